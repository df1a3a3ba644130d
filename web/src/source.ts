// Where the data and the models come from. A report on a disk has everything in script files,
// because a page opened from `file://` may load nothing else.

import type { Data, Model } from "./data";

export interface Source {
  data(): Data;
  poster(model: Model): string;
  picture(sha256: string): string;
  /** Fetches the bytes of a model; fails with a sentence. */
  model(model: Model): Promise<ArrayBuffer>;
  /** Loads a script of the report, once. */
  script(name: string): Promise<void>;
}

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
  private readonly waiting = new Map<string, (payload: Payload) => void>();
  private readonly scripts = new Map<string, Promise<void>>();
  private readonly picked = new Map<string, File>();

  constructor(private readonly inline: (name: string) => string | null) {
    window.archi3d = {
      model: (sha256, base64, coding) => {
        this.waiting.get(sha256)?.({ base64, coding });
        this.waiting.delete(sha256);
      },
    };
  }

  data(): Data {
    if (!window.archi3dData) throw new Error("data.js is missing beside this page");
    return window.archi3dData;
  }

  poster(model: Model): string {
    return this.inline(`posters/${model.sha256}.jpg`) ?? `posters/${model.sha256}.jpg`;
  }

  picture(sha256: string): string {
    return this.inline(`pictures/${sha256}.jpg`) ?? `pictures/${sha256}.jpg`;
  }

  /** Takes the files of a workspace that the person has chosen. */
  pick(files: FileList): number {
    for (const file of files) {
      const path = file.webkitRelativePath.split("/").slice(1).join("/");
      this.picked.set(path, file);
    }
    return files.length;
  }

  async model(model: Model): Promise<ArrayBuffer> {
    const file = this.picked.get(model.path);
    if (file) return file.arrayBuffer();
    if (!model.payload) throw new Error("not part of this report: choose the workspace folder to see it in 3D");
    const payload = await this.payload(model.sha256);
    const packed = Uint8Array.from(atob(payload.base64), (char) => char.charCodeAt(0));
    if (payload.coding !== "gzip") return packed.buffer;
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  private payload(sha256: string): Promise<Payload> {
    return new Promise((resolve, reject) => {
      this.waiting.set(sha256, resolve);
      this.load(`models/${sha256}.glb.txt`).catch(() => {
        this.waiting.delete(sha256);
        reject(new Error("its file is missing in this report"));
      });
    });
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
      element.onload = () => {
        element.remove();
        resolve();
      };
      element.onerror = () => {
        element.remove();
        reject(new Error(`${name} cannot be loaded`));
      };
      element.src = text === null ? name : URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      document.head.append(element);
    });
  }
}
