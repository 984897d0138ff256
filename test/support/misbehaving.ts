import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

// Runs as the process of an analysis, with all its limits, and does what the name of the package says.

const kept: unknown[] = []
const usage = { cpuMs: 1, peakBytes: 1, residentBytes: 1 }

/** What came of trying: the code of an error, or `done`. */
function tried(attempt: () => unknown): string {
  try {
    attempt()
    return 'done'
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  }
}

const report = {
  engine: { name: 'built-in', version: '0' },
  sections: [],
  notMeasured: [],
  tags: [],
  notes: [],
  documented: null,
  sizes: [],
}

const conduct: Record<string, (wantsDocs: boolean) => unknown> = {
  loop() {
    for (;;) kept.length = 0
  },
  heap() {
    for (;;) kept.push(Array.from({ length: 1000 }, (_, index) => ({ index })))
  },
  buffers() {
    for (;;) kept.push(Buffer.alloc(4 * 1024 ** 2, 1))
  },
  nonsense: () => ({ report: { sections: 'many' }, surface: 'none' }),
  exit: () => process.exit(3),
  killed: () => process.kill(process.pid, 'SIGKILL'),
  silent: () => process.disconnect(),
  broken() {
    throw new TypeError('a bug of its own')
  },
  curious: () => ({
    refused: JSON.stringify({
      environment: Object.keys(process.env).filter((name) => !['PWD', 'MALLOC_ARENA_MAX'].includes(name)),
      database: tried(() => readFileSync('/etc/passwd')),
      others: tried(() => readdirSync('..')),
      outside: tried(() => writeFileSync('../outside', '')),
      inside: tried(() => writeFileSync('docs.pages', '')),
      program: tried(() => execFileSync('/bin/true')),
    }),
    ...usage,
  }),
  wordy: (wantsDocs) => (wantsDocs ? process.exit(3) : { report, surface: new Uint8Array(1), docsFailure: null, ...usage }),
  well: () => ({ refused: `process ${process.pid}`, ...usage }),
}

type Question = { facts: { name: string }; wantsDocs: boolean }
process.on('message', ({ facts: { name }, wantsDocs }: Question) => process.send?.(conduct[name]?.(wantsDocs)))
process.on('disconnect', () => process.exit())
process.send?.('ready')
