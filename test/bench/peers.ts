import { randomBytes } from 'node:crypto'
import { PubClient } from '../support/pub-client.ts'
import { record, startBarePublisher, startFastify } from './baselines.ts'
import { cpuMicroseconds, keepToLoadCore, type Server, stopServer } from './processes.ts'
import { publishVersions } from './publishing.ts'
import { toRow } from './reading.ts'
import { archiveOf, type Registry, startRegistry } from './registry.ts'
import { measureInterleaved, median } from './rounds.ts'
import type { Row } from './table.ts'
import { publishToVerdaccio, startVerdaccio } from './verdaccio.ts'
import { wrkLoad } from './wrk.ts'

const archiveBytes = 48_000
/** Number of versions published per round. */
const perRound = 30

type Effort = { rounds: number; seconds: number }

/** Compares publishing with Verdaccio, and reading a listing with a token with Fastify. */
export async function peerRows(folder: string, effort: Effort): Promise<Row[]> {
  keepToLoadCore()
  const registry = await startRegistry(folder)
  try {
    return [...(await publishingRows(registry, folder, effort)), await listingRow(registry, folder, effort)]
  } finally {
    await stopServer(registry)
  }
}

/**
 * Measures publishing with one client, then with three concurrent clients. Every client starts a new package in every round. The bare server shows
 * the cost of the protocol and its fsyncs without a registry. Its rate is not an upper bound, because it does nothing else while it waits for the
 * disk.
 */
async function publishingRows(registry: Registry, folder: string, { rounds }: Effort): Promise<Row[]> {
  const [verdaccio, bare] = [await startVerdaccio(folder), await startBarePublisher(folder)]
  const publishers = {
    ours: { server: registry, publish: toPub(registry.client) },
    theirs: {
      server: verdaccio,
      publish: async (name: string, version: string) => {
        const archive = randomBytes(archiveBytes)
        return () => publishToVerdaccio(verdaccio, name, version, archive)
      },
    },
    bare: { server: bare, publish: toPub(new PubClient({ hostedUrl: bare.url, address: bare.url })) },
  }
  const rows: Row[] = []
  for (const atOnce of [1, 3]) {
    const samples = { ours: Array<Sample>(), theirs: Array<Sample>(), bare: Array<Sample>() }
    for (let round = -1; round < rounds; round++) {
      for (const who of ['ours', 'theirs', 'bare'] as const) {
        const { server, publish } = publishers[who]
        const sample = await publishRound(server, publish, `peer_${atOnce}_${round + 1}`, atOnce)
        if (round >= 0) samples[who].push(sample) // the first round is a warm-up
      }
      process.stderr.write(`publishing, ${atOnce} at once: round ${round + 1} of ${rounds}\n`)
    }
    const { ours, theirs } = samples
    const what = `publishing 50 KB, ${atOnce === 1 ? 'one after another' : 'three at once'}`
    rows.push(
      publishingRow(`${what} / Verdaccio`, ours, theirs, { atLeast: 1 }),
      publishingRow(`${what} / a bare server`, ours, samples.bare, null),
    )
  }
  await stopServer(verdaccio)
  await stopServer(bare)
  return rows
}

const toPub =
  (client: PubClient): Publish =>
  async (name, version) => {
    const archive = await archiveOf(name, version, archiveBytes)
    return () => client.publish(archive)
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

function publishingRow(what: string, ours: Sample[], theirs: Sample[], bound: Row['bound']): Row {
  const rate = (samples: Sample[]) => `${median(samples.map(({ perSecond }) => perSecond)).toFixed(1)}/s`
  const cost = (samples: Sample[]) => median(samples.map(({ cpu }) => cpu)).toFixed(0)
  return {
    what,
    snug: rate(ours),
    baseline: rate(theirs),
    ratio: median(ours.map(({ perSecond }, round) => perSecond / (theirs[round]?.perSecond ?? Number.NaN))),
    bound,
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
