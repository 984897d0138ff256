import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Config } from '../../platform/config/config.ts'
import { trustGit } from '../../platform/sandbox/trust-git.ts'

/**
 * An SDK installation prepared for pana: its folder, its `dart`, the script that runs pana, and the PUB_CACHE that contains pana. The file `mark`
 * exists until the SDK is removed.
 */
export type Sdk = {
  kind: 'dart' | 'flutter'
  version: string
  path: string
  dart: string
  pubCache: string
  panaPath: string
  mark: string
}

/** The command line for analyzing a version with pana, the hosts it needs access to, and the folder for documentation. */
export type Invocation = { command: string[]; env: Record<string, string>; readable: string[]; origins: string[]; docs: string }

type Settings = Pick<Config, 'SERVER_URL' | 'SDK_PUB_HOSTED_URL' | 'ALLOWED_HOSTED_URLS'>

type Prepared = { folder: string; sdk: Sdk; token: string; seconds: number }

/** Creates the files that pana needs in the job's folder, next to the package, and returns the invocation. */
export async function prepare(config: Settings, { folder, sdk, token, seconds }: Prepared): Promise<Invocation> {
  const [home, docs] = [join(folder, 'home'), join(folder, 'docs')]
  const settings = join(home, '.config')
  await mkdir(join(settings, 'dart'), { recursive: true })
  await mkdir(docs)
  // The pub client's credentials file. Source: lib/src/authentication/token_store.dart of pub.
  const credentials = { version: 1, hosted: [{ url: config.SERVER_URL, token }] }
  await writeFile(join(settings, 'dart', 'pub-tokens.json'), JSON.stringify(credentials), { mode: 0o600 })
  const binaries = dirname(sdk.dart)
  const sdks = ['--dart-sdk', dirname(binaries), ...(sdk.kind === 'flutter' ? ['--flutter-sdk', sdk.path] : [])]
  // These timeouts are shorter than the job's, so that pana skips slow steps and reports on the rest before it is killed.
  const times = ['--dartdoc-timeout', String(Math.ceil(seconds / 2)), '--total-timeout', String(Math.ceil(seconds * 0.8))]
  const documentation = ['--dartdoc-version', 'sdk', '--dartdoc-output', docs]
  return {
    command: [
      sdk.panaPath,
      '--json',
      ...sdks,
      '--hosted-url',
      config.SDK_PUB_HOSTED_URL,
      ...documentation,
      ...times,
      join(folder, 'package'),
    ],
    // pana creates its own PUB_CACHE for the package. This one contains pana itself.
    env: { PATH: binaries, HOME: home, XDG_CONFIG_HOME: settings, PUB_CACHE: sdk.pubCache, CI: 'true', ...trustGit },
    readable: [sdk.path, sdk.pubCache],
    origins: [config.SERVER_URL, config.SDK_PUB_HOSTED_URL, ...config.ALLOWED_HOSTED_URLS],
    docs,
  }
}
