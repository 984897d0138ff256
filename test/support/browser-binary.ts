import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import chromium, { inflate } from '@sparticuz/chromium'

const cache = fileURLToPath(new URL('../../node_modules/.cache/snug/', import.meta.url))
const packageFile = join(dirname(fileURLToPath(import.meta.resolve('@sparticuz/chromium'))), '../package.json')

/** Path of a browser and the environment variables it needs. */
export interface BrowserBinary {
  executablePath: string
  env: Record<string, string>
}

/**
 * Returns the browser that CHROMIUM_PATH names, or the Chromium from the dependencies, which is unpacked once per version.
 * That Chromium includes the libraries that minimal systems lack, and its own font, so that pages look the same everywhere.
 */
export async function browserBinary(): Promise<BrowserBinary> {
  if (process.env.CHROMIUM_PATH) return { executablePath: process.env.CHROMIUM_PATH, env: {} }
  if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error('No browser comes for this platform: set CHROMIUM_PATH.')
  const { version } = createRequire(import.meta.url)(packageFile) as { version: string }
  const home = join(cache, `chromium-${version}`)
  if (!existsSync(home)) await unpack(home)
  return {
    executablePath: join(home, 'chromium'),
    env: { LD_LIBRARY_PATH: join(home, 'al2023/lib'), FONTCONFIG_FILE: join(home, 'fonts.conf') },
  }
}

/** Unpacks into a temporary folder and renames it, so that an interrupted attempt does not leave a folder that looks complete. */
async function unpack(home: string) {
  await mkdir(cache, { recursive: true })
  const target = await mkdtemp(join(cache, 'unpacking-'))
  const { TMPDIR } = process.env
  process.env.TMPDIR = target // the package has no other option for the target folder
  await Promise.all([chromium.executablePath(), inflate(join(dirname(packageFile), 'bin/al2023.tar.br'))])
  if (TMPDIR === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = TMPDIR
  const fonts = `<fontconfig><dir>${home}/fonts</dir><cachedir>${home}/fonts-cache</cachedir></fontconfig>`
  await writeFile(join(target, 'fonts.conf'), `<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "fonts.dtd">\n${fonts}\n`)
  await rename(target, home).catch(() => rm(target, { recursive: true })) // another process has unpacked it already
}
