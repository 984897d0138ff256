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

/** Answers without pages, and then does something else than to make them. */
const afterReport = (conductThen: () => void) =>
  void process.send?.({ interim: { report, surface: new Uint8Array(1), docsFailure: null, ...usage } }, conductThen)

const conduct: Record<string, () => unknown> = {
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
  wordy: () => afterReport(() => process.exit(3)),
  endless: () =>
    afterReport(() => {
      for (;;) kept.length = 0
    }),
  well: () => ({ refused: `process ${process.pid}`, ...usage }),
}

type Question = { facts: { name: string } }
process.on('message', ({ facts: { name } }: Question) => {
  const answer = conduct[name]?.()
  if (answer !== undefined) process.send?.(answer)
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
