import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

type Options = {
  /** Its own folder, which is removed after the test. */
  folder: string
  port: number
  /** The Debian package that has the program. */
  package: string
  env?: NodeJS.ProcessEnv
}

/** Starts a proxy for this test; resolves when it listens. @throws Error that says how to install it, or why it ended. */
export async function startProxy(program: string, args: string[], options: Options): Promise<void> {
  const { folder, port, env } = options
  const path = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`
  const proxy = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: path, ...env } })
  let told = ''
  proxy.stderr.on('data', (chunk: Buffer) => (told += chunk.toString()))
  const ended = new Promise<string>((resolve) => {
    proxy.once('error', (error) => resolve(`Install it to run this test: apt-get install ${options.package} (${error.message})`))
    proxy.once('close', () => resolve(`${program} ended: ${told}`))
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
