// The pictures that models were made from.

import { useState } from "preact/hooks";

import { source } from "./context";
import type { Item, Picture } from "./data";

export function SourcePicture({ picture, alt }: { picture: Picture | undefined; alt: string }) {
  const [lost, setLost] = useState(false);
  if (!picture || lost) return <span class="note only">{picture ? "its picture is missing" : "no picture"}</span>;
  return <img src={source().picture(picture.sha256)} alt={alt} loading="lazy" decoding="async" onError={() => setLost(true)} />;
}

export function SourcePictures({ item, title }: { item: Item; title: string }) {
  return (
    <figure class="sources">
      <figcaption><bdi>{title}</bdi></figcaption>
      {item.pictures.map((picture) => <SourcePicture key={picture.sha256} picture={picture} alt={picture.name} />)}
      {item.missing > 0 && <p class="note only">{item.missing === 1 ? "1 picture cannot be read" : `${item.missing} pictures cannot be read`}</p>}
    </figure>
  );
}
