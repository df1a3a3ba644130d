// Models in 3D: one WebGL context for all of them, each shown on a plain canvas, one camera.
// Browsers allow sixteen contexts; a page of results needs more pictures than that.

import {
  AmbientLight, Box3, Color, DirectionalLight, DoubleSide, Group, HemisphereLight, Material, Matrix4,
  Mesh, MeshBasicMaterial, MeshNormalMaterial, MeshStandardMaterial, Object3D, PerspectiveCamera, PMREMGenerator, Quaternion,
  Scene, Sphere, Texture, Vector3, WebGLRenderer,
} from "three";
import { DRACOLoader } from "three/examples/jsm/loaders/DRACOLoader.js";
import { GLTFLoader } from "three/examples/jsm/loaders/GLTFLoader.js";
import { RoomEnvironment } from "three/examples/jsm/environments/RoomEnvironment.js";
import { MeshoptDecoder } from "three/examples/jsm/libs/meshopt_decoder.module.js";

import type { Pose, Viewer, ViewMode } from "./viewer-api";

const HOME = { yaw: 0.66, pitch: 0.28, distance: 2.9 };
const SLOW_MS = 50;

const CLAY = new MeshStandardMaterial({ color: 0xb9b4ac, roughness: 0.85, metalness: 0, side: DoubleSide });
const NORMALS = new MeshNormalMaterial({ side: DoubleSide });
const WIRE_FILL = new MeshBasicMaterial({ color: 0xf4f4f2, side: DoubleSide, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 });
const WIRE = new MeshBasicMaterial({ color: 0x1d3557, wireframe: true });
const TRUTH = new MeshStandardMaterial({ color: 0x2a6fdb, roughness: 1, transparent: true, opacity: 0.38, depthWrite: false, side: DoubleSide });

interface Cell {
  canvas: HTMLCanvasElement;
  context: CanvasRenderingContext2D;
  /** Moves and scales what it holds into a sphere of radius one. */
  place: Group;
  model: Object3D;
  pose: Matrix4 | null;
  originals: Map<Mesh, Material | Material[]>;
  wires: Mesh[];
}

class OneContext implements Viewer {
  private readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  private readonly camera = new PerspectiveCamera(32, 1, 0.01, 50);
  private readonly cells = new Map<HTMLCanvasElement, Cell>();
  private readonly loader: GLTFLoader;
  private readonly queue = new Set<Cell>();
  private orbit = { ...HOME };
  private mode: ViewMode = "textured";
  private frame = 0;
  private slow = false;
  private turning: Cell | null = null;
  private truth: Object3D | null = null;
  private loadTruth: (() => Promise<ArrayBuffer>) | null = null;
  private environment: Texture | null = null;
  private readonly isSoftware: boolean;
  private readonly sizes = new ResizeObserver((seen) => {
    for (const { target } of seen) {
      const cell = this.cells.get(target as HTMLCanvasElement);
      if (cell) this.ask(cell);
    }
  });

  constructor(private readonly script: (name: string) => Promise<void>) {
    this.renderer = new WebGLRenderer({ antialias: true, alpha: true, powerPreference: "high-performance" });
    this.renderer.setClearColor(new Color(0xffffff), 0);
    const key = new DirectionalLight(0xffffff, 2.4);
    key.position.set(-1.4, 2, 2.1);
    const fill = new DirectionalLight(0xffffff, 0.7);
    fill.position.set(2, 0.3, 1.3);
    this.camera.add(key, fill);
    this.scene.add(this.camera, new HemisphereLight(0xffffff, 0x8d8a85, 1.5), new AmbientLight(0xffffff, 0.25));
    const gl = this.renderer.getContext();
    const told = gl.getExtension("WEBGL_debug_renderer_info");
    const name = String(gl.getParameter(told ? told.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
    this.isSoftware = /swiftshader|llvmpipe|software|basic render/i.test(name);
    this.renderer.domElement.addEventListener("webglcontextrestored", () => this.redraw());
    this.loader = new GLTFLoader().setMeshoptDecoder(MeshoptDecoder as never);
  }

  async add(canvas: HTMLCanvasElement, bytes: ArrayBuffer, pose: Pose | null): Promise<void> {
    const model = await this.parse(bytes);
    const context = canvas.getContext("2d");
    if (!context) throw new Error("The browser gives no canvas.");
    const place = new Group();
    place.add(model);
    place.visible = false;
    model.matrixAutoUpdate = false;
    const matrix = pose && new Matrix4().compose(
      new Vector3(...pose.shift), new Quaternion(pose.turn[1], pose.turn[2], pose.turn[3], pose.turn[0]),
      new Vector3(pose.scale, pose.scale, pose.scale),
    );
    const cell: Cell = { canvas, context, place, model, pose: matrix, originals: new Map(), wires: [] };
    model.traverse((part) => {
      if (part instanceof Mesh) cell.originals.set(part, part.material);
    });
    if (cell.originals.size === 0) throw new Error("There is nothing to see in this model.");
    this.light(cell);
    this.scene.add(place);
    this.cells.set(canvas, cell);
    this.sizes.observe(canvas);
    this.listen(cell);
    this.apply(cell);
    this.draw(cell);
  }

  /** Metal shows only what it mirrors. A room to mirror takes seconds without a graphics card;
   * there metal is drawn duller instead. */
  private light(cell: Cell): void {
    const materials = [...cell.originals.values()].flat();
    const metal = materials.filter((one) => one instanceof MeshStandardMaterial && one.metalness > 0.5);
    if (metal.length === 0) return;
    if (this.isSoftware) {
      for (const one of metal) (one as MeshStandardMaterial).metalness = 0.5;
    } else if (!this.environment) {
      const generator = new PMREMGenerator(this.renderer);
      this.environment = generator.fromScene(new RoomEnvironment(), 0.04).texture;
      generator.dispose();
      this.scene.environment = this.environment;
      this.scene.environmentIntensity = 0.5;
    }
  }

  setTruth(load: (() => Promise<ArrayBuffer>) | null): void {
    if (this.truth) release(this.truth);
    this.truth = null;
    this.loadTruth = load;
    if (this.mode === "overlay") void this.readTruth();
  }

  private async readTruth(): Promise<void> {
    const load = this.loadTruth;
    this.loadTruth = null;
    if (!load) return;
    try {
      const truth = await this.parse(await load());
      truth.traverse((part) => {
        if (!(part instanceof Mesh)) return;
        forget(part.material);
        part.material = TRUTH;
      });
      this.truth = truth;
      for (const cell of this.cells.values()) this.apply(cell);
      this.redraw();
    } catch {
      // The real model has a cell of its own, which says what is wrong with it.
    }
  }

  private async parse(bytes: ArrayBuffer): Promise<Object3D> {
    const text = new TextDecoder().decode(bytes.slice(0, Math.min(bytes.byteLength, 1 << 20)));
    if (text.includes("KHR_draco_mesh_compression")) await this.useDraco();
    if (text.includes("KHR_texture_basisu") && /"extensionsRequired"[^\]]*KHR_texture_basisu/.test(text)) {
      throw new Error("Its textures are compressed as KTX2, which this page does not decode.");
    }
    try {
      const loaded = await this.loader.parseAsync(bytes, "");
      return loaded.scene;
    } catch (error) {
      const reason = error instanceof Error ? error.message.replace(/^THREE\.\w+: /, "") : String(error);
      throw new Error(`This model cannot be read: ${reason}`);
    }
  }

  /** Draco's decoder is large and rarely needed: loaded from the report when it is. */
  private async useDraco(): Promise<void> {
    if (this.loader.dracoLoader) return;
    await this.script("draco.js");
    const parts = window.archi3dDraco;
    if (!parts) throw new Error("The Draco decoder is missing in this report.");
    const draco = new DRACOLoader();
    const library = (name: string) =>
      Promise.resolve(name.endsWith(".wasm") ? Uint8Array.from(atob(parts.wasm), (char) => char.charCodeAt(0)).buffer : parts.wrapper);
    (draco as unknown as { _loadLibrary: typeof library })._loadLibrary = library;
    this.loader.setDRACOLoader(draco);
  }

  setMode(mode: ViewMode): void {
    if (this.mode === mode) return;
    this.mode = mode;
    if (mode === "overlay") void this.readTruth();
    for (const cell of this.cells.values()) this.apply(cell);
    this.redraw();
  }

  look(yaw: number, pitch: number): void {
    this.orbit = { yaw, pitch, distance: this.orbit.distance };
    this.redraw();
  }

  reset(): void {
    this.orbit = { ...HOME };
    this.redraw();
  }

  private apply(cell: Cell): void {
    for (const wire of cell.wires.splice(0)) wire.removeFromParent();
    for (const [mesh, original] of cell.originals) {
      mesh.material = this.mode === "clay" ? CLAY : this.mode === "normals" ? NORMALS : this.mode === "wireframe" ? WIRE_FILL : original;
      if (this.mode === "wireframe") {
        const wire = new Mesh(mesh.geometry, WIRE);
        mesh.add(wire);
        cell.wires.push(wire);
      }
    }
    const over = this.mode === "overlay" && cell.pose !== null && this.truth !== null;
    cell.model.matrix.copy(over ? cell.pose! : new Matrix4());
    cell.model.matrixWorldNeedsUpdate = true;
    normalise(cell.place, over ? this.truth! : cell.model);
  }

  private listen(cell: Cell): void {
    const { canvas } = cell;
    let last: { x: number; y: number } | null = null;
    canvas.onpointerdown = (event) => {
      last = { x: event.clientX, y: event.clientY };
      this.turning = cell;
      canvas.setPointerCapture(event.pointerId);
    };
    canvas.onpointermove = (event) => {
      if (!last) return;
      this.turn((event.clientX - last.x) * 0.01, (event.clientY - last.y) * 0.01);
      last = { x: event.clientX, y: event.clientY };
    };
    canvas.onpointerup = canvas.onpointercancel = () => {
      last = null;
      this.turning = null;
      this.redraw();
    };
    canvas.onwheel = (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY * 0.001));
    };
    canvas.onkeydown = (event) => {
      const step = 0.15;
      const keys: Record<string, () => void> = {
        ArrowLeft: () => this.turn(-step, 0), ArrowRight: () => this.turn(step, 0),
        ArrowUp: () => this.turn(0, -step), ArrowDown: () => this.turn(0, step),
        "+": () => this.zoom(0.9), "-": () => this.zoom(1.1),
      };
      const action = keys[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    };
  }

  private turn(yaw: number, pitch: number): void {
    this.orbit.yaw -= yaw;
    this.orbit.pitch = Math.min(1.55, Math.max(-1.55, this.orbit.pitch + pitch));
    this.redraw();
  }

  private zoom(factor: number): void {
    this.orbit.distance = Math.min(8, Math.max(0.6, this.orbit.distance * factor));
    this.redraw();
  }

  private redraw(): void {
    for (const cell of this.cells.values()) this.ask(cell);
  }

  private ask(cell: Cell): void {
    this.queue.add(cell);
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.tick());
  }

  /** Draws what waits. Where drawing is slow, the model under the pointer comes first and
   * the others follow a few at a time. */
  private tick(): void {
    this.frame = 0;
    const started = performance.now();
    const first = this.turning;
    if (first && this.queue.delete(first)) this.draw(first);
    for (const cell of [...this.queue]) {
      if (this.slow && performance.now() - started > SLOW_MS) break;
      this.queue.delete(cell);
      this.draw(cell);
    }
    this.slow = performance.now() - started > SLOW_MS;
    if (this.queue.size > 0) this.frame = requestAnimationFrame(() => this.tick());
  }

  private draw(cell: Cell): void {
    const { canvas, context, place } = cell;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
    if (width === 0 || height === 0) return;
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    this.renderer.setSize(width, height, false);
    const { yaw, pitch, distance } = this.orbit;
    this.camera.aspect = width / height;
    this.camera.position.set(
      distance * Math.cos(pitch) * Math.sin(yaw), distance * Math.sin(pitch), distance * Math.cos(pitch) * Math.cos(yaw),
    );
    this.camera.lookAt(0, 0, 0);
    this.camera.updateProjectionMatrix();
    const over = this.mode === "overlay" && cell.pose ? this.truth : null;
    if (over) place.add(over);
    place.visible = true;
    this.renderer.render(this.scene, this.camera);
    place.visible = false;
    over?.removeFromParent();
    context.clearRect(0, 0, width, height);
    context.drawImage(this.renderer.domElement, 0, 0);
    canvas.dataset["drawn"] = this.mode;
  }

  remove(canvas: HTMLCanvasElement): void {
    const cell = this.cells.get(canvas);
    if (!cell) return;
    this.cells.delete(canvas);
    this.queue.delete(cell);
    this.sizes.unobserve(canvas);
    this.scene.remove(cell.place);
    for (const wire of cell.wires.splice(0)) wire.removeFromParent();
    for (const [mesh, original] of cell.originals) mesh.material = original;
    release(cell.place);
    // The canvas keeps its pixels otherwise, for as long as anything refers to it.
    canvas.width = canvas.height = 0;
  }

  dispose(): void {
    for (const canvas of [...this.cells.keys()]) this.remove(canvas);
    this.setTruth(null);
    this.environment?.dispose();
    this.loader.dracoLoader?.dispose();
    cancelAnimationFrame(this.frame);
    this.renderer.dispose();
    this.renderer.forceContextLoss();
  }

  held(): { geometries: number; textures: number; cells: number } {
    const { geometries, textures } = this.renderer.info.memory;
    return { geometries, textures, cells: this.cells.size };
  }
}

/** Moves and scales a place so that what is shown fills a sphere of radius one. */
function normalise(place: Group, around: Object3D): void {
  place.position.set(0, 0, 0);
  place.scale.setScalar(1);
  place.updateMatrixWorld(true);
  around.updateMatrixWorld(true);
  const sphere = new Box3().setFromObject(around).getBoundingSphere(new Sphere());
  const scale = sphere.radius > 0 && Number.isFinite(sphere.radius) ? 0.78 / sphere.radius : 1;
  place.scale.setScalar(scale);
  place.position.copy(sphere.center).multiplyScalar(-scale);
}

function release(root: Object3D): void {
  root.traverse((part) => {
    if (!(part instanceof Mesh)) return;
    part.geometry.dispose();
    if (part.material !== TRUTH) forget(part.material);
  });
}

function forget(materials: Material | Material[]): void {
  for (const material of [materials].flat()) {
    for (const value of Object.values(material)) {
      if (!(value instanceof Texture)) continue;
      value.dispose();
      (value.image as ImageBitmap | undefined)?.close?.();
    }
    material.dispose();
  }
}

window.archi3dViewer = { create: (script) => new OneContext(script) };
