"""Makes a workspace with one large run whose jobs are finished, from a few that a real worker made."""

import hashlib
import os
import re
import shutil
import subprocess
import sys

PATTERNS = 4
# Files of results are links to one of so many: they are not what is measured, and ext4 allows no more than 65,000.
LINKS = 50_000


def main() -> None:
    binary, root, count = sys.argv[1], sys.argv[2], int(sys.argv[3])

    def archi3d(*arguments: str) -> None:
        command = [binary, *arguments, "--workspace", root]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    for number in range(PATTERNS):
        folder = f"{root}/dataset/{100_000 + number}/images"
        os.makedirs(folder)
        for tag in "AB":
            with open(f"{folder}/p_{tag}.jpg", "wb") as file:
                file.write(b"\xff\xd8\xff\xd9")
    os.makedirs(f"{root}/config")
    with open(f"{root}/config/adapters.yaml", "w") as file:
        file.write("adapters: {paid: {kind: mock, submit: true, unit_price_usd: 0.3}}\n")
    archi3d("catalog", "build")
    archi3d("batch", "create", "--run-id", "r", "--algos", "paid")
    archi3d("run", "worker", "--run-id", "r", "--yes")
    multiply(root, count)


def read(path: str) -> str:
    with open(path, encoding="utf-8-sig", newline="") as file:
        return file.read()


def content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def multiply(root: str, count: int) -> None:
    run = f"{root}/runs/r"
    state, outputs, journals = f"{run}/state", f"{run}/outputs", f"{run}/state/journal"
    registry, births = f"{root}/tables/generations.csv", f"{run}/rows.csv"
    header, first, *_ = read(registry).splitlines()
    job = first.split(",")[header.split(",").index("job_id")]
    [journal] = [name for name in os.listdir(journals) if name.endswith(".jsonl")]
    journal = f"{journals}/{journal}"
    lines = read(journal).splitlines()
    of_job = [line for line in lines if job in line]
    nonce = of_job[0].split('"nonce":"')[1].split('"')[0]
    head, record = read(f"{state}/{job}.completed").split("archi3d: ")
    patterns = [name for name in os.listdir(outputs) if not name.startswith(".")]
    files = {name: content(f"{outputs}/{job}/{name}") for name in os.listdir(f"{outputs}/{job}")}
    ledgers = [f"{root}/tables/budget.jsonl", f"{root}/runs/.budget/ledger.jsonl"]

    def template(text: str) -> list[str]:
        """Cuts a text at the job's id and nonce."""
        return re.split(f"({job}|{nonce})", text)

    def turned(parts: list[str], name: str, own: str) -> str:
        return "".join(name if part == job else own if part == nonce else part for part in parts)

    texts = {}
    for path in (registry, f"{run}/manifest.csv", births):
        names, *rows = read(path).splitlines()
        texts[path] = ("\ufeff" + names, [next(row for row in rows if job in row)], "")
    opened = next(line for line in lines if '"opened"' in line)
    closed = next(line for line in lines if '"closed"' in line)
    texts[journal] = (opened, of_job, closed)
    for path in ledgers:
        texts[path] = ("", [line for line in read(path).splitlines() if job in line], "")
    for name in patterns:
        os.remove(f"{state}/{name}.completed")
        shutil.rmtree(f"{outputs}/{name}")

    names = [(hashlib.sha1(str(n).encode()).hexdigest()[:12], f"{n:0{len(nonce)}x}") for n in range(count)]
    for path, (above, each, below) in texts.items():
        parts = template("".join(line + "\n" for line in each))
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(above + "\n" if above else "")
            for number, (name, own) in enumerate(names, 1):
                text = turned(parts, name, own)
                file.write(f"{number}," + text.split(",", 1)[1] if path == births else text)
            file.write(below + "\n" if below else "")
    parts = template(record.splitlines()[0])
    into = os.open(state, os.O_RDONLY)
    for name, own in names:
        text = turned(parts, name, own)
        check = hashlib.sha256(text.encode()).hexdigest()[:16]
        write(into, f"{name}.completed", f"{head}archi3d: {text}\ncheck: {check}\n".encode())
    into = os.open(outputs, os.O_RDONLY)
    for number, (name, _) in enumerate(names):
        os.mkdir(name, dir_fd=into)
        if number % LINKS == 0:
            of_many = name
            for file, bytes_of in files.items():
                write(into, f"{name}/{file}", bytes_of)
        else:
            for file in files:
                os.link(f"{of_many}/{file}", f"{name}/{file}", src_dir_fd=into, dst_dir_fd=into)


def write(folder: int, name: str, content: bytes) -> None:
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=folder)
    os.write(file, content)
    os.close(file)


if __name__ == "__main__":
    main()
