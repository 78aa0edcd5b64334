// Appends to Durable Streams in file mode, in its own process: FOLDER one|each plain|numbered SECONDS.
import { FileBackedStreamStore } from "@durable-streams/server";

const [folder, shape, kind, seconds] = process.argv.slice(2);
const PRODUCERS = 16;
const data = new TextEncoder().encode("x".repeat(99) + "\n");
const store = new FileBackedStreamStore({ dataDir: folder });
const paths = Array.from({ length: PRODUCERS }, (_, k) => (shape === "one" ? "/log" : `/log-${k}`));
for (const path of new Set(paths)) await store.create(path, { contentType: "text/plain" });

let appends = 0;
const begin = performance.now();
const end = begin + Number(seconds) * 1000;
await Promise.all(
  paths.map(async (path, k) => {
    for (let seq = 0; performance.now() < end; seq++) {
      const number = { producerId: `p${k}`, producerEpoch: 0, producerSeq: seq };
      const made = await (kind === "numbered" ? store.appendWithProducer(path, data, number) : store.append(path, data));
      if (kind === "numbered" && made.producerResult?.status !== "accepted") throw new Error(JSON.stringify(made));
      appends++;
    }
  }),
);
const took = (performance.now() - begin) / 1000;
let bytes = 0;
for (const path of new Set(paths)) for (const message of store.read(path).messages) bytes += message.data.length;
console.log(JSON.stringify({ appends, seconds: took, bytes }));
process.exit(0);
