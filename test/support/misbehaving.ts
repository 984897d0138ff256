import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

// Program that runs as an analysis process with all its limits and misbehaves. The name of the package selects the behavior.

const kept: unknown[] = []
const usage = { cpuMs: 1, peakBytes: 1, residentBytes: 1 }

/** Returns `done`, or the code of the error that the attempt threw. */
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

/** Sends a report without documentation pages, then calls `next` instead of generating them. */
const afterReport = (next: () => void) =>
  void process.send?.({ interim: { report, surface: new Uint8Array(1), apiVerdict: null, docsFailure: null, ...usage } }, next)

const behaviors: Record<string, () => unknown> = {
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
  // Like a process that gets little CPU time.
  late: () => void setTimeout(() => process.send?.({ refused: `process ${process.pid}`, ...usage }), 1500),
  well: () => ({ refused: `process ${process.pid}`, ...usage }),
}

type Question = { facts: { name: string } }
process.on('message', ({ facts: { name } }: Question) => {
  const answer = behaviors[name]?.()
  if (answer !== undefined) process.send?.(answer)
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
