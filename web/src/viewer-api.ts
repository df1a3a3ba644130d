// What the page knows of the viewer, which is loaded only when a model is opened.

export type ViewMode = "textured" | "clay" | "normals" | "wireframe" | "overlay";

export interface Pose {
  scale: number;
  turn: [number, number, number, number];
  shift: [number, number, number];
}

export interface Shown {
  triangles: number;
}

export interface Viewer {
  /** Shows a model on a canvas; with the real model and the pose between them, also over it. */
  add(canvas: HTMLCanvasElement, bytes: ArrayBuffer, truth: ArrayBuffer | null, pose: Pose | null): Promise<Shown>;
  setMode(mode: ViewMode): void;
  look(yaw: number, pitch: number): void;
  reset(): void;
  redraw(): void;
  remove(canvas: HTMLCanvasElement): void;
  dispose(): void;
  held(): { geometries: number; textures: number };
}

declare global {
  interface Window {
    archi3dViewer?: { create(script: (name: string) => Promise<void>): Viewer };
    archi3dDraco?: { wrapper: string; wasm: string };
  }
}
