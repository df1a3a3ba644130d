// Models in 3D: one WebGL context for all of them, each shown on a plain canvas, one camera.
// Browsers allow sixteen contexts; a page of results needs more pictures than that.

import {
  AmbientLight, Box3, BufferGeometry, Color, DirectionalLight, DoubleSide, Group, HemisphereLight, Material, Matrix4,
  Mesh, MeshBasicMaterial, MeshNormalMaterial, MeshStandardMaterial, Object3D, PerspectiveCamera, Quaternion, Scene,
  Sphere, Texture, Vector3, WebGLRenderer,
} from "three";
import { DRACOLoader } from "three/examples/jsm/loaders/DRACOLoader.js";
import { GLTFLoader } from "three/examples/jsm/loaders/GLTFLoader.js";
import { MeshoptDecoder } from "three/examples/jsm/libs/meshopt_decoder.module.js";

import type { Pose, Shown, Viewer, ViewMode } from "./viewer-api";

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
  place: Group;
  model: Object3D;
  originals: Map<Mesh, Material | Material[]>;
  overlay: Object3D | null;
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

  constructor(private readonly script: (name: string) => Promise<void>) {
    this.renderer = new WebGLRenderer({ antialias: true, alpha: true, powerPreference: "high-performance" });
    this.renderer.setClearColor(new Color(0xffffff), 0);
    const key = new DirectionalLight(0xffffff, 2.4);
    key.position.set(-1.4, 2, 2.1);
    const fill = new DirectionalLight(0xffffff, 0.7);
    fill.position.set(2, 0.3, 1.3);
    this.camera.add(key, fill);
    this.scene.add(this.camera, new HemisphereLight(0xffffff, 0x8d8a85, 1.5), new AmbientLight(0xffffff, 0.25));
    this.loader = new GLTFLoader().setMeshoptDecoder(MeshoptDecoder as never);
  }

  async add(canvas: HTMLCanvasElement, bytes: ArrayBuffer, truth: ArrayBuffer | null, pose: Pose | null): Promise<Shown> {
    const model = await this.parse(bytes);
    const place = new Group();
    place.add(model);
    let overlay: Object3D | null = null;
    let around: Object3D = model;
    if (truth && pose) {
      overlay = await this.parse(truth);
      const { scale, turn, shift } = pose;
      model.applyMatrix4(new Matrix4().compose(
        new Vector3(...shift), new Quaternion(turn[1], turn[2], turn[3], turn[0]), new Vector3(scale, scale, scale),
      ));
      overlay.traverse((part) => {
        if (part instanceof Mesh) part.material = TRUTH;
      });
      overlay.visible = false;
      place.add(overlay);
      around = overlay;
    }
    normalise(place, around);
    const context = canvas.getContext("2d");
    if (!context) throw new Error("the browser gives no canvas");
    const cell: Cell = { canvas, context, place, model, overlay, originals: new Map(), wires: [] };
    model.traverse((part) => {
      if (part instanceof Mesh) cell.originals.set(part, part.material);
    });
    place.visible = false;
    this.scene.add(place);
    this.cells.set(canvas, cell);
    this.listen(cell);
    this.apply(cell);
    this.draw(cell);
    return facts(model);
  }

  private async parse(bytes: ArrayBuffer): Promise<Object3D> {
    const text = new TextDecoder().decode(bytes.slice(0, Math.min(bytes.byteLength, 1 << 20)));
    if (text.includes("KHR_draco_mesh_compression")) await this.useDraco();
    if (text.includes("KHR_texture_basisu") && /"extensionsRequired"[^\]]*KHR_texture_basisu/.test(text)) {
      throw new Error("its textures are compressed as KTX2, which this page does not decode");
    }
    try {
      const loaded = await this.loader.parseAsync(bytes, "");
      return loaded.scene;
    } catch (error) {
      throw new Error(`it cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Draco's decoder is large and rarely needed: loaded from the report when it is. */
  private async useDraco(): Promise<void> {
    await this.script("draco.js");
    const parts = window.archi3dDraco;
    if (!parts) throw new Error("the Draco decoder is missing in this report");
    const draco = new DRACOLoader();
    const library = (name: string) =>
      Promise.resolve(name.endsWith(".wasm") ? Uint8Array.from(atob(parts.wasm), (char) => char.charCodeAt(0)).buffer : parts.wrapper);
    (draco as unknown as { _loadLibrary: typeof library })._loadLibrary = library;
    this.loader.setDRACOLoader(draco);
  }

  setMode(mode: ViewMode): void {
    this.mode = mode;
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
    if (cell.overlay) cell.overlay.visible = this.mode === "overlay";
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

  redraw(): void {
    for (const cell of this.cells.values()) this.queue.add(cell);
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
    place.visible = true;
    this.renderer.render(this.scene, this.camera);
    place.visible = false;
    context.clearRect(0, 0, width, height);
    context.drawImage(this.renderer.domElement, 0, 0);
    canvas.dataset["drawn"] = this.mode;
  }

  remove(canvas: HTMLCanvasElement): void {
    const cell = this.cells.get(canvas);
    if (!cell) return;
    this.cells.delete(canvas);
    this.queue.delete(cell);
    this.scene.remove(cell.place);
    for (const [mesh, original] of cell.originals) mesh.material = original;
    release(cell.place);
  }

  dispose(): void {
    for (const canvas of [...this.cells.keys()]) this.remove(canvas);
    cancelAnimationFrame(this.frame);
    this.renderer.dispose();
    this.renderer.forceContextLoss();
  }

  /** How much the graphics card holds, for tests. */
  held(): { geometries: number; textures: number } {
    return { ...this.renderer.info.memory };
  }
}

/** Moves and scales a place so that what is shown fills a sphere of radius one. */
function normalise(place: Group, around: Object3D): void {
  const sphere = new Box3().setFromObject(around).getBoundingSphere(new Sphere());
  const scale = sphere.radius > 0 && Number.isFinite(sphere.radius) ? 0.78 / sphere.radius : 1;
  place.scale.setScalar(scale);
  place.position.copy(sphere.center).multiplyScalar(-scale);
}

function facts(model: Object3D): Shown {
  let triangles = 0;
  model.traverse((part) => {
    if (!(part instanceof Mesh)) return;
    const geometry = part.geometry as BufferGeometry;
    triangles += (geometry.index?.count ?? geometry.getAttribute("position")?.count ?? 0) / 3;
  });
  return { triangles: Math.round(triangles) };
}

function release(root: Object3D): void {
  root.traverse((part) => {
    if (!(part instanceof Mesh)) return;
    part.geometry.dispose();
    const materials = Array.isArray(part.material) ? part.material : [part.material];
    for (const material of materials as Material[]) {
      if (material === TRUTH) continue;
      for (const value of Object.values(material)) if (value instanceof Texture) value.dispose();
      material.dispose();
    }
  });
}

window.archi3dViewer = { create: (script) => new OneContext(script) };
