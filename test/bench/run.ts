import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { measureSizes } from './capacity.ts'
import { measureMemory } from './memory.ts'
import { mirrorRows } from './mirror.ts'
import { peerRows } from './peers.ts'
import { placement, residentMegabytes, stopServer } from './processes.ts'
import { compareLateWithEarly } from './publishing.ts'
import { readingRows } from './reading.ts'
import { startRegistry } from './registry.ts'
import { signInRows } from './sign-in.ts'
import { tokenRows } from './tokens.ts'
import { measureRequests } from './requests.ts'
import { measureStartUp } from './start-up.ts'
import { holds, renderTable, type Row } from './table.ts'

// npm run bench [-- --quick]: compares the server with Fastify, a file stream and nginx. Exits with 1 if a bound is missed.
// npm run bench -- --peers [--quick]: compares publishing with Verdaccio, which is installed into a cache folder, and reading with Fastify, using
// wrk.
// npm run bench -- --sign-in [--quick]: compares response times of refused logins, and measures health checks during logins.
// npm run bench -- --mirror [--quick]: compares reads of mirrored packages with reads of own packages.
// npm run bench -- --tokens [--quick]: compares reads with narrowed tokens with reads with a token without limits.
// npm run bench -- --capacity [--packages 1000,10000,100000]: measures servers of these sizes, with twenty versions per package, on both databases.
// npm run bench -- --requests [--packages 20000] [--versions 5] [--database sqlite] [--postgres <url of an empty database>]: measures the CPU time of
// the main thread for every read. --only <regular expression> selects reads by name; --folder <folder> keeps the servers for the next run.
// npm run bench -- --memory [same options]: measures the server's memory after every listing, 400 package pages and 400 searches.
const switches = {
  memory: { type: 'boolean', default: false },
  requests: { type: 'boolean', default: false },
  versions: { type: 'string', default: '5' },
  database: { type: 'string', default: 'sqlite,postgres' },
  postgres: { type: 'string' },
  folder: { type: 'string' },
  only: { type: 'string' },
  capacity: { type: 'boolean', default: false },
  packages: { type: 'string', default: '1000,10000,100000' },
  quick: { type: 'boolean', default: false },
  peers: { type: 'boolean', default: false },
  'sign-in': { type: 'boolean', default: false },
  mirror: { type: 'boolean', default: false },
  tokens: { type: 'boolean', default: false },
} as const
const { values } = parseArgs({ options: switches })
const effort = values.quick ? { rounds: 3, seconds: 0.7, versions: 150, starts: 2 } : { rounds: 7, seconds: 2, versions: 500, starts: 5 }
const logins = values.quick ? { attempts: 20, parallel: 20 } : { attempts: 200, parallel: 100 }

const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'snug-bench-'))
try {
  if (values.requests) console.log(await measureRequests(folder, values))
  else if (values.memory) console.log(await measureMemory(folder, values))
  else if (values.capacity) console.log(await measureSizes(folder, values.packages.split(',').map(Number)))
  else await compare()
} finally {
  if (values.folder === undefined) rmSync(folder, { recursive: true, force: true })
}

async function compare(): Promise<void> {
  const rows = await measureChosen()
  const [load = 0] = loadavg()
  console.log(`\nNode ${process.versions.node}, ${cpus()[0]?.model.trim()}; ${placement}; load average at the end ${load.toFixed(1)}`)
  if (values['sign-in']) console.log(`${logins.attempts} refused logins of each kind, medians\n`)
  else console.log(`${effort.rounds} rounds of ${effort.seconds} s, medians; ratios are medians of the ratios per round\n`)
  console.log(renderTable(rows))
  if (!rows.every(holds)) process.exitCode = 1
}

function measureChosen(): Promise<Row[]> {
  if (values['sign-in']) return signInRows(folder, logins)
  if (values.mirror) return mirrorRows(folder, effort)
  if (values.tokens) return tokenRows(folder, effort)
  return values.peers ? peerRows(folder, effort) : measure()
}

async function measure(): Promise<Row[]> {
  const startUp = await measureStartUp(folder, effort.starts)
  const registry = await startRegistry(folder)
  try {
    const reading = await readingRows(registry, folder, effort)
    const { late, early } = await compareLateWithEarly(registry, effort.versions)
    const used = residentMegabytes(registry.pid)
    return [
      ...reading,
      row(`publishing version ${effort.versions - 49}–${effort.versions}, compared with 1–50`, 'ms', late, early, 1.3),
      row('start with npm, to the first response', 'ms', startUp.npm, 2000, 1),
      row('start without npm', 'ms', startUp.node, 2000, 1),
      row('memory at rest', 'MB', startUp.idle, 120, 1),
      row('memory after all measurements', 'MB', used, 250, 1),
    ]
  } finally {
    await stopServer(registry)
  }
}

function row(what: string, unit: string, ours: number, theirs: number, atMost: number): Row {
  const show = (value: number) => `${value.toFixed(value < 100 ? 1 : 0)} ${unit}`
  return { what, snug: show(ours), baseline: show(theirs), ratio: ours / theirs, bound: { atMost }, cpu: '' }
}
