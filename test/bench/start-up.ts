import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { nextPort, residentMegabytes, startServer, stopServer } from './processes.ts'
import { checkout, settings, startCommand } from './registry.ts'
import { median } from './rounds.ts'

export type StartUp = { npm: number; node: number; idle: number }

/**
 * Milliseconds from the command to the first answer of the health endpoint, on an installed and built checkout and with existing data: by
 * `npm start`, and without npm. And the megabytes that the server holds when it has nothing to do. Medians.
 */
export async function measureStartUp(folder: string, times: number): Promise<StartUp> {
  const data = mkdtempSync(join(folder, 'start-'))
  await startOnce(data, startCommand) // builds the console when that is due, fills Node's cache of compiled code, makes the database
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
