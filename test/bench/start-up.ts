import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { nextPort, residentMegabytes, startServer, stopServer } from './processes.ts'
import { checkout, settings, startCommand } from './registry.ts'
import { median } from './rounds.ts'

export type StartUp = { npm: number; node: number; idle: number }

/**
 * Measures the time in milliseconds from the command to the first response of the health endpoint, with `npm start` and without npm, on a built
 * checkout with existing data. Also measures the memory of the idle server in megabytes. Returns medians.
 */
export async function measureStartUp(folder: string, times: number): Promise<StartUp> {
  const data = mkdtempSync(join(folder, 'start-'))
  await startOnce(data, startCommand) // fills Node's compile cache, creates the database
  const [npm, node, idle]: [number[], number[], number[]] = [[], [], []]
  for (let time = 0; time < times; time++) {
    npm.push((await startOnce(data, ['npm', 'start'])).milliseconds)
    const direct = await startOnce(data, startCommand, true)
    node.push(direct.milliseconds)
    idle.push(direct.megabytes)
  }
  return { npm: median(npm), node: median(node), idle: median(idle) }
}

async function startOnce(folder: string, command: string[], rest = false): Promise<{ milliseconds: number; megabytes: number }> {
  const env = settings(folder, nextPort())
  const started = performance.now()
  const server = await startServer({ command, url: `${env.SERVER_URL}/api/v1/health`, folder, name: 'start', cwd: checkout, env })
  const milliseconds = performance.now() - started
  if (rest) await sleep(2000)
  const megabytes = residentMegabytes(server.pid)
  await stopServer(server)
  return { milliseconds, megabytes }
}
