import { randomBytes } from 'node:crypto'
import { record, startFastify } from './baselines.ts'
import { cpuMicroseconds, keepToLoadCore, type Server, stopServer } from './processes.ts'
import { publishVersions } from './publishing.ts'
import { toRow } from './reading.ts'
import { archiveOf, type Registry, startRegistry } from './registry.ts'
import { measureInterleaved, median } from './rounds.ts'
import type { Row } from './table.ts'
import { publishToVerdaccio, startVerdaccio } from './verdaccio.ts'
import { wrkLoad } from './wrk.ts'

const archiveBytes = 48_000
/** As many versions are published in a round. */
const perRound = 30

type Effort = { rounds: number; seconds: number }

/** What publishing costs beside Verdaccio, and reading a listing with a token beside Fastify. */
export async function peerRows(folder: string, effort: Effort): Promise<Row[]> {
  keepToLoadCore()
  const registry = await startRegistry(folder)
  try {
    return [...(await publishingRows(registry, folder, effort)), await listingRow(registry, folder, effort)]
  } finally {
    await stopServer(registry)
  }
}

/** One publisher, then three at once; each begins a package in every round. */
async function publishingRows(registry: Registry, folder: string, { rounds }: Effort): Promise<Row[]> {
  const verdaccio = await startVerdaccio(folder)
  const publish = {
    ours: async (name: string, version: string) => {
      const archive = await archiveOf(name, version, archiveBytes)
      return () => registry.client.publish(archive)
    },
    theirs: async (name: string, version: string) => {
      const archive = randomBytes(archiveBytes)
      return () => publishToVerdaccio(verdaccio, name, version, archive)
    },
  }
  const rows: Row[] = []
  for (const atOnce of [1, 3]) {
    const [ours, theirs]: [Sample[], Sample[]] = [[], []]
    for (let round = -1; round < rounds; round++) {
      const name = `peer_${atOnce}_${round + 1}`
      const [mine, others] = [
        await publishRound(registry, publish.ours, name, atOnce),
        await publishRound(verdaccio, publish.theirs, name, atOnce),
      ]
      process.stderr.write(`publishing, ${atOnce} at once: round ${round + 1} of ${rounds}\n`)
      if (round < 0) continue // it warms up
      ours.push(mine)
      theirs.push(others)
    }
    rows.push(publishingRow(atOnce, ours, theirs))
  }
  await stopServer(verdaccio)
  return rows
}

type Sample = { perSecond: number; cpu: number }
type Publish = (name: string, version: string) => Promise<() => Promise<unknown>>

async function publishRound(server: Server, publish: Publish, name: string, atOnce: number): Promise<Sample> {
  const publishers = await Promise.all(
    Array.from({ length: atOnce }, async (_, index) => {
      const versions = Array.from({ length: perRound / atOnce }, (_one, patch) => publish(`${name}_${index}`, `1.0.${patch}`))
      return Promise.all(versions)
    }),
  )
  const [before, started] = [cpuMicroseconds(server.pid), performance.now()]
  await Promise.all(
    publishers.map(async (versions) => {
      for (const send of versions) await send()
    }),
  )
  const seconds = (performance.now() - started) / 1000
  return { perSecond: perRound / seconds, cpu: (cpuMicroseconds(server.pid) - before) / perRound }
}

function publishingRow(atOnce: number, ours: Sample[], theirs: Sample[]): Row {
  const rate = (samples: Sample[]) => `${median(samples.map(({ perSecond }) => perSecond)).toFixed(1)}/s`
  const cost = (samples: Sample[]) => median(samples.map(({ cpu }) => cpu)).toFixed(0)
  return {
    what: `publishing 50 KB, ${atOnce === 1 ? 'one after another' : 'three at once'} / Verdaccio`,
    snug: rate(ours),
    baseline: rate(theirs),
    ratio: median(ours.map(({ perSecond }, round) => perSecond / (theirs[round]?.perSecond ?? Number.NaN))),
    bound: { atLeast: 1 },
    cpu: `${cost(ours)}, ${cost(theirs)}`,
  }
}

async function listingRow(registry: Registry, folder: string, { rounds, seconds }: Effort): Promise<Row> {
  await publishVersions(registry, 'versions_20', 0, 20)
  const request = { path: '/api/packages/versions_20', headers: { 'accept-encoding': 'gzip' } }
  const fastify = await startFastify([await record(registry, request, folder)], folder)
  const ours = { ...request, server: registry, headers: { ...request.headers, authorization: `Bearer ${registry.token}` } }
  const theirs = { ...request, server: fastify }
  const wrk = wrkLoad()
  if (!wrk)
    console.error("wrk is not installed, so the benchmark's own load generator reads: with it, ratios are higher. apt-get install wrk")
  const samples = await measureInterleaved([ours, theirs], rounds, seconds, wrk)
  await stopServer(fastify)
  return toRow({ what: `listing of 20 versions with a token / Fastify${wrk ? ', by wrk' : ''}`, ours, theirs, atLeast: 0.5 }, samples)
}
