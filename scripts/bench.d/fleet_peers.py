"""Queues on PostgreSQL and Redis that are measured beside the fleet: jobs that do nothing.

Each is a program of its own that enqueues, says so, drains and says how long both took. The end is seen by the handler itself,
so that nobody counts rows in the meantime.
"""

GRAPHILE = r"""
const {makeWorkerUtils, run} = require("graphile-worker");
const [url, count, mode] = [process.argv[2], Number(process.argv[3]), process.argv[4]];
const payload = {text: "x".repeat(400)};
(async () => {
  const utils = await makeWorkerUtils({connectionString: url});
  await utils.migrate();
  let start = process.hrtime.bigint();
  for (let made = 0; made < count; made += 1000) {
    const some = Array.from({length: Math.min(1000, count - made)}, () => ({identifier: "noop", payload}));
    await utils.addJobs(some);
  }
  const enqueue = Number(process.hrtime.bigint() - start) / 1e9;
  await utils.release();
  let done = 0, ended;
  const all = new Promise((resolve) => { ended = resolve; });
  const tuned = mode === "tuned" ? {localQueue: {size: 500}, completeJobBatchDelay: 0, failJobBatchDelay: 0} : {};
  start = process.hrtime.bigint();
  const runner = await run({
    preset: {worker: {connectionString: url, concurrentJobs: 24, maxPoolSize: 24, ...tuned}},
    noHandleSignals: true, logger: new (require("graphile-worker").Logger)(() => () => {}),
    taskList: {noop: async () => { done += 1; if (done === count) ended(); }},
  });
  await all;
  await runner.stop();
  const drain = Number(process.hrtime.bigint() - start) / 1e9;
  console.log(JSON.stringify({enqueue, drain}));
  process.exit(0);
})();
"""

PG_BOSS = r"""
const PgBoss = require("pg-boss");
const [url, count, loops, batchSize] = [process.argv[2], ...process.argv.slice(3).map(Number)];
const data = {text: "x".repeat(400)};
(async () => {
  const boss = new PgBoss({connectionString: url, max: 10});
  await boss.start();
  await boss.createQueue("noop");
  let start = process.hrtime.bigint();
  for (let made = 0; made < count; made += 1000) {
    await boss.insert(Array.from({length: Math.min(1000, count - made)}, () => ({name: "noop", data})));
  }
  const enqueue = Number(process.hrtime.bigint() - start) / 1e9;
  start = process.hrtime.bigint();
  const loop = async () => {
    for (;;) {
      const some = await boss.fetch("noop", {batchSize});
      if (!some || some.length === 0) return;
      await boss.complete("noop", some.map((job) => job.id));
    }
  };
  await Promise.all(Array.from({length: loops}, loop));
  const drain = Number(process.hrtime.bigint() - start) / 1e9;
  console.log(JSON.stringify({enqueue, drain}));
  process.exit(0);
})();
"""

PGQUEUER = r"""
import asyncio, json, sys, time
import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode

async def main(url, count, batch):
    driver = AsyncpgDriver(await asyncpg.connect(url))
    queries = Queries(driver)
    await queries.install()
    start = time.monotonic()
    for made in range(0, count, 1000):
        some = min(1000, count - made)
        await queries.enqueue(["noop"] * some, [b"x" * 400] * some, [0] * some)
    enqueue = time.monotonic() - start
    worker = PgQueuer(driver)
    done = 0
    @worker.entrypoint("noop")
    async def noop(job):
        nonlocal done
        done += 1
    start = time.monotonic()
    await worker.run(batch_size=batch, mode=QueueExecutionMode.drain)
    drain = time.monotonic() - start
    assert done == count, done
    print(json.dumps({"enqueue": enqueue, "drain": drain}))

asyncio.run(main(sys.argv[1], int(sys.argv[2]), 200 if sys.argv[3] == "tuned" else 10))
"""

PROCRASTINATE = r"""
import asyncio, json, logging, sys, time
import procrastinate

logging.disable(logging.CRITICAL)

async def main(url, count):
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url, max_size=12))
    done = 0
    @app.task(name="noop", queue="noop")
    async def noop(text):
        nonlocal done
        done += 1
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        start = time.monotonic()
        for made in range(0, count, 1000):
            some = min(1000, count - made)
            await noop.batch_defer_async(*[{"text": "x" * 400}] * some)
        enqueue = time.monotonic() - start
        start = time.monotonic()
        await app.run_worker_async(queues=["noop"], concurrency=10, wait=False, install_signal_handlers=False)
        drain = time.monotonic() - start
    assert done == count, done
    print(json.dumps({"enqueue": enqueue, "drain": drain}))

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""

RQ = r"""
import json, logging, sys, time
from redis import Redis
from rq import Queue, SimpleWorker
from bench_noop import noop

logging.disable(logging.CRITICAL)
connection = Redis.from_url(sys.argv[1])
queue, count = Queue(connection=connection), int(sys.argv[2])
start = time.monotonic()
for made in range(0, count, 1000):
    queue.enqueue_many([Queue.prepare_data(noop, ("x" * 400,)) for _ in range(min(1000, count - made))])
enqueue = time.monotonic() - start
start = time.monotonic()
SimpleWorker([queue], connection=connection).work(burst=True, logging_level="ERROR")
drain = time.monotonic() - start
assert queue.finished_job_registry.count == count, queue.finished_job_registry.count
print(json.dumps({"enqueue": enqueue, "drain": drain}))
"""

RQ_JOB = "def noop(text):\n    pass\n"
