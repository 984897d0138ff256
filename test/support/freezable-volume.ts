import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

/** A volume that stops responding on demand, like a network share whose server is away. */
export type FreezableVolume = {
  folder: string
  /** From now on, every operation on the volume waits. */
  freeze: () => void
  thaw: () => void
}

/**
 * Mounts a FUSE file system for the test, whose process can be paused.
 * @throws Error if mounting is not permitted.
 */
export async function freezableVolume(): Promise<FreezableVolume> {
  const [folder, content] = [mkdtempSync(join(tmpdir(), 'snug-fuse-')), mkdtempSync(join(tmpdir(), 'snug-content-'))]
  onTestFinished(() => [folder, content].forEach((path) => rmSync(path, { recursive: true, force: true })))
  const device = openSync('/dev/fuse', 'r+')
  let server: ChildProcess
  try {
    const options = 'fd=3,rootmode=40000,user_id=0,group_id=0,default_permissions'
    execFileSync('mount', ['-i', '-t', 'fuse', '-o', options, 'snug-test', folder], { stdio: ['pipe', 'pipe', 'pipe', device] })
    server = spawn(process.execPath, [fileURLToPath(new URL('fuse-server.ts', import.meta.url)), content], {
      stdio: ['ignore', 'inherit', 'inherit', device],
    })
  } catch (error) {
    throw new Error('This test mounts a FUSE file system: run it as root, where mounts are allowed.', { cause: error })
  } finally {
    closeSync(device)
  }
  onTestFinished(async () => {
    execFileSync('umount', ['--lazy', folder])
    server.kill('SIGKILL')
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
  })
  return { folder, freeze: () => void server.kill('SIGSTOP'), thaw: () => void server.kill('SIGCONT') }
}
