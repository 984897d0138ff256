import { execFileSync } from 'node:child_process'

const works = (command: string, ...args: string[]): boolean => {
  try {
    execFileSync(command, args, { stdio: 'pipe', timeout: 120_000, env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
    return true
  } catch {
    return false
  }
}

/** Installs bubblewrap on Debian-based systems if it is missing and the process runs as root. */
export function installBubblewrap(): void {
  if (works('bwrap', '--version') || process.getuid?.() !== 0) return
  if (!works('apt-get', 'install', '-y', 'bubblewrap')) works('sh', '-c', 'apt-get update && apt-get install -y bubblewrap')
}
