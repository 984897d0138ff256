import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

type Options = {
  /** Working folder, which is removed after the test. */
  folder: string
  port: number
  /** Debian package of the program. */
  package: string
  env?: NodeJS.ProcessEnv
}

/**
 * Starts a proxy for this test and waits until it listens. @throws Error with install instructions if the program is missing, or with its output if
 * it exits.
 */
export async function startProxy(program: string, args: string[], options: Options): Promise<void> {
  const { folder, port, env } = options
  const path = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`
  const proxy = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: path, ...env } })
  let output = ''
  proxy.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = new Promise<string>((resolve) => {
    proxy.once('error', (error) => resolve(`Install it to run this test: apt-get install ${options.package} (${error.message})`))
    proxy.once('close', () => resolve(`${program} ended: ${output}`))
  })
  onTestFinished(async () => {
    proxy.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  const hasEnded = new AbortController()
  void ended.then(() => hasEnded.abort())
  const problem = await Promise.race([ended, untilListens(port, hasEnded.signal)])
  if (problem !== null) throw new Error(problem)
}

async function untilListens(port: number, stop: AbortSignal): Promise<null> {
  while (!stop.aborted) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) break
    await sleep(10)
  }
  return null
}
