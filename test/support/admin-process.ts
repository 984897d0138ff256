import { type ChildProcess, spawn } from 'node:child_process'
import { secretForTests } from './server-process.ts'

/** Exit code of a command, everything that it printed, and what it printed to standard output: its result, without the progress. */
type Result = { code: number | null; out: string; stdout: string }

/** Starts an admin command in a process of its own, with the settings of a server. */
export function admin(folder: string, env: Record<string, string>, ...args: string[]): { process: ChildProcess; result: Promise<Result> } {
  const settings = { PATH: process.env.PATH, SERVER_URL: 'http://localhost:1', JWT_SECRET: secretForTests, DATA_DIR: folder, ...env }
  const child = spawn(process.execPath, ['server/platform/launch/snug.mjs', 'admin', ...args], {
    env: settings,
    stdio: 'pipe',
    detached: true,
  })
  let [out, stdout] = ['', '']
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => void (out += chunk.toString()))
  child.stdout.on('data', (chunk: Buffer) => void (stdout += chunk.toString()))
  return { process: child, result: new Promise((resolve) => child.once('close', (code) => resolve({ code, out, stdout }))) }
}
