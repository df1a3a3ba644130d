// What the page knows of the viewer, which is loaded only when a model is opened.

export type ViewMode = "textured" | "clay" | "normals" | "wireframe" | "overlay";

export interface Pose {
  scale: number;
  turn: [number, number, number, number];
  shift: [number, number, number];
}

export interface Viewer {
  /** Shows a model on a canvas; the pose brings it onto the real one. */
  add(canvas: HTMLCanvasElement, bytes: ArrayBuffer, pose: Pose | null): Promise<void>;
  /** Tells how to get the real model, which is shown over those that have a pose. */
  setTruth(load: (() => Promise<ArrayBuffer>) | null): void;
  setMode(mode: ViewMode): void;
  look(yaw: number, pitch: number): void;
  reset(): void;
  remove(canvas: HTMLCanvasElement): void;
  dispose(): void;
  /** What is held, for tests. */
  held(): { geometries: number; textures: number; cells: number };
}

declare global {
  interface Window {
    archi3dViewer?: { create(script: (name: string) => Promise<void>): Viewer };
    archi3dDraco?: { wrapper: string; wasm: string };
  }
}
