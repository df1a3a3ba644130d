// Where the data and the models come from. A report on a disk has everything in script files,
// because a page opened from `file://` may load nothing else.

import type { Data, Model } from "./data";

export interface Source {
  data(): Data;
  /** All views side by side. */
  poster(model: Model): string;
  /** One view alone. */
  view(model: Model): string;
  picture(sha256: string): string;
  /** Fetches the bytes of a model; fails with a sentence. */
  model(model: Model): Promise<ArrayBuffer>;
  /** Loads a script of the page, once. */
  script(name: string): Promise<void>;
  /** Where there is more to see of a job. */
  more?(job: { run_id: string; job_id: string }): string;
}

const DAMAGED = "Its file is missing or damaged in this report.";

interface Payload {
  base64: string;
  coding: string;
}

declare global {
  interface Window {
    archi3dData?: Data;
    archi3d?: { model(sha256: string, base64: string, coding: string): void };
  }
}

/** A report in a folder, or in one file. */
export class FileSource implements Source {
  private readonly arrived = new Map<string, Payload>();
  private readonly scripts = new Map<string, Promise<void>>();
  private readonly loading = new Map<string, Promise<Payload>>();
  private picked: File[] = [];

  constructor(private readonly inline: (name: string) => string | null) {
    window.archi3d = {
      model: (sha256, base64, coding) => void this.arrived.set(sha256, { base64, coding }),
    };
  }

  data(): Data {
    if (!window.archi3dData) throw new Error("data.js is missing beside this page");
    return window.archi3dData;
  }

  poster(model: Model): string {
    return this.address(`posters/${model.sha256}.jpg`);
  }

  view(model: Model): string {
    return this.address(`posters/${model.sha256}-1.jpg`);
  }

  picture(sha256: string): string {
    return this.address(`pictures/${sha256}.jpg`);
  }

  private address(name: string): string {
    return this.inline(name) ?? name;
  }

  /** Takes the files of a workspace that the person has chosen; says how many are models. */
  pick(files: FileList): number {
    this.picked = [...files].filter((file) => /\.glb$/i.test(file.name));
    return this.picked.length;
  }

  async model(model: Model): Promise<ArrayBuffer> {
    // Whichever folder above the model was chosen, its path ends in the same way.
    const file = this.picked.find((one) => `/${one.webkitRelativePath}`.endsWith(`/${model.path}`) && one.size === model.bytes);
    if (file) return file.arrayBuffer();
    if (!model.sha256) throw new Error(model.note ?? "its file is missing");
    if (!model.payload) throw new Error("Not part of this report: choose the workspace folder to see it in 3D.");
    const payload = await this.payload(model.sha256);
    try {
      const packed = Uint8Array.from(atob(payload.base64), (char) => char.charCodeAt(0));
      if (payload.coding !== "gzip") return packed.buffer;
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      return await new Response(stream).arrayBuffer();
    } catch {
      throw new Error(DAMAGED);
    }
  }

  /** Loads a model's script; whoever asks for the same one meanwhile gets the same. Nothing is
   * kept after that: a page of models would fill the memory. */
  private payload(sha256: string): Promise<Payload> {
    let loading = this.loading.get(sha256);
    if (!loading) {
      loading = this.load(`models/${sha256}.glb.txt`)
        .then(() => this.arrived.get(sha256) ?? Promise.reject(), () => Promise.reject())
        .catch(() => Promise.reject(new Error(DAMAGED)))
        .finally(() => {
          this.arrived.delete(sha256);
          this.loading.delete(sha256);
        });
      this.loading.set(sha256, loading);
    }
    return loading;
  }

  script(name: string): Promise<void> {
    let loading = this.scripts.get(name);
    if (!loading) {
      loading = this.load(name);
      this.scripts.set(name, loading);
    }
    return loading;
  }

  private load(name: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const element = document.createElement("script");
      const text = this.inline(name);
      const address = text === null ? name : URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      const end = (then: () => void) => () => {
        element.remove();
        if (text !== null) URL.revokeObjectURL(address);
        then();
      };
      element.onload = end(resolve);
      element.onerror = end(() => reject(new Error(`${name} is missing or damaged in this report`)));
      element.src = address;
      document.head.append(element);
    });
  }
}
