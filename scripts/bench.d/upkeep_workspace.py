"""Makes a workspace with one large run whose jobs are finished, from a few that a real worker made."""

import hashlib
import os
import shutil
import subprocess
import sys

PATTERNS = 4


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


def multiply(root: str, count: int) -> None:
    run = f"{root}/runs/r"
    header, first, *_ = read(f"{root}/tables/generations.csv").splitlines()
    job = first.split(",")[header.split(",").index("job_id")]
    tables = {}
    for path in (f"{root}/tables/generations.csv", f"{run}/manifest.csv", f"{run}/rows.csv"):
        lines = read(path).splitlines()
        tables[path] = (lines[0], next(line for line in lines[1:] if job in line))
    journals = f"{run}/state/journal"
    [journal] = [name for name in os.listdir(journals) if name.endswith(".jsonl")]
    lines = read(f"{journals}/{journal}").splitlines()
    opened = next(line for line in lines if '"opened"' in line)
    closed = next(line for line in lines if '"closed"' in line)
    of_job = [line for line in lines if job in line]
    ledger = [line for line in read(f"{root}/tables/budget.jsonl").splitlines() if job in line]
    nonce = of_job[0].split('"nonce":"')[1].split('"')[0]
    marker = read(f"{run}/state/{job}.completed")
    head, json_and_check = marker.split("archi3d: ")
    json = json_and_check.splitlines()[0]
    outputs = f"{run}/outputs"
    patterns = [name for name in os.listdir(outputs) if not name.startswith(".")]

    out = {path: open(path, "w", encoding="utf-8", newline="") for path in tables}
    for path, (names, _) in tables.items():
        out[path].write("\ufeff" + names + "\n")
    lines_out = open(f"{journals}/{journal}", "w")
    lines_out.write(opened + "\n")
    money = open(f"{root}/tables/budget.jsonl", "w")
    for number in range(count):
        name = hashlib.sha1(str(number).encode()).hexdigest()[:12]
        own = f"{number:0{len(nonce)}x}"[-len(nonce):]

        def turned(text: str) -> str:
            return text.replace(job, name).replace(nonce, own)

        for path, (_, row) in tables.items():
            row = turned(row)
            if path.endswith("rows.csv"):
                row = f"{number + 1}," + row.split(",", 1)[1]
            out[path].write(row + "\n")
        lines_out.write("".join(turned(line) + "\n" for line in of_job))
        money.write("".join(turned(line) + "\n" for line in ledger))
        text = turned(json)
        check = hashlib.sha256(text.encode()).hexdigest()[:16]
        with open(f"{run}/state/{name}.completed", "w") as file:
            file.write(f"{head}archi3d: {text}\ncheck: {check}\n")
        os.mkdir(f"{outputs}/{name}")
        with open(f"{outputs}/{name}/generated.glb", "wb") as file:
            file.write(b"glTF")
    lines_out.write(closed + "\n")
    for file in (*out.values(), lines_out, money):
        file.close()
    double = f"{root}/runs/.budget/ledger.jsonl"
    if os.path.exists(double):
        with open(f"{root}/tables/budget.jsonl", "rb") as source, open(double, "wb") as target:
            target.write(source.read())
    for name in patterns:
        os.remove(f"{run}/state/{name}.completed")
        shutil.rmtree(f"{outputs}/{name}")


if __name__ == "__main__":
    main()
