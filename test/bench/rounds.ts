import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Burst, BurstResult } from './load.ts'
import { cpuMicroseconds, hasTaskset, pinned, type Server } from './processes.ts'
import { checkout } from './registry.ts'

/** Request to a server. */
export type Subject = { server: Server; path: string; headers?: Record<string, string>; status?: number }

/** Result of a round: responses per second, and CPU time of the server per response in microseconds. */
export type Sample = { perSecond: number; cpu: number }

/** Load generator. `send` repeats a request for a number of seconds and returns the number of responses and the elapsed time. */
export type Load = { send(subject: Subject, seconds: number): Promise<{ requests: number; seconds: number }>; end(): void }

/** Number of concurrent requests of a pub client. */
export const connections = 16

/**
 * Sends bursts to all subjects in turn for several rounds, so that other load on the machine affects all of them equally. Returns one sample per
 * subject and round. A first round is a warm-up.
 */
export async function measureInterleaved(
  subjects: Subject[],
  rounds: number,
  seconds: number,
  load: Load = ownLoad(),
): Promise<Map<Subject, Sample[]>> {
  const samples = new Map(subjects.map((subject) => [subject, [] as Sample[]]))
  for (const subject of subjects) await sample(load, subject, 2)
  for (let round = 0; round < rounds; round++) {
    for (const [subject, found] of samples) found.push(await sample(load, subject, seconds))
    process.stderr.write(`round ${round + 1} of ${rounds}\n`)
  }
  load.end()
  return samples
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2
}

/** Starts the benchmark's own load generator, which never sleeps, so that waking it costs the servers nothing. */
export function ownLoad(): Load {
  const [program, ...args] = pinned(1, [process.execPath, 'test/bench/load.ts'])
  const child = spawn(program, args, { cwd: checkout, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  return {
    async send({ server, path, headers = {}, status = 200 }, seconds) {
      const burst: Burst = { url: server.url + path, headers, status, seconds, connections, ownCore: hasTaskset }
      child.send(burst)
      const [result] = (await once(child, 'message')) as [BurstResult]
      if (result.problem !== undefined) throw new Error(result.problem)
      return result
    },
    end: () => void child.kill(),
  }
}

async function sample(load: Load, subject: Subject, seconds: number): Promise<Sample> {
  const { pid } = subject.server
  const before = cpuMicroseconds(pid)
  const sent = await load.send(subject, seconds)
  return { perSecond: sent.requests / sent.seconds, cpu: (cpuMicroseconds(pid) - before) / sent.requests }
}
