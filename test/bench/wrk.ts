import { execFile, execFileSync } from 'node:child_process'
import { promisify } from 'node:util'
import { pinned } from './processes.ts'
import { connections, type Load } from './rounds.ts'

const run = promisify(execFile)

/**
 * Returns a load generator that uses wrk, or undefined if wrk is not installed. wrk is independent of Node and sleeps between responses as real
 * clients do.
 */
export function wrkLoad(): Load | undefined {
  if (!isInstalled()) return undefined
  return {
    async send({ server, path, headers = {} }, seconds) {
      const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
      const command = ['wrk', '-t1', `-c${connections}`, `-d${Math.max(1, Math.round(seconds))}s`, ...given, server.url + path]
      const [program, ...args] = pinned(1, command)
      const { stdout } = await run(program, args)
      const [, requests, perSecond] = /(\d+) requests in [\s\S]*Requests\/sec:\s+([\d.]+)/.exec(stdout) ?? []
      if (!requests || !perSecond || /Non-2xx|Socket errors/.test(stdout)) throw new Error(`${command.join(' ')}:\n${stdout}`)
      return { requests: Number(requests), seconds: Number(requests) / Number(perSecond) }
    },
    end: () => {},
  }
}

function isInstalled(): boolean {
  try {
    execFileSync('sh', ['-c', 'command -v wrk'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
