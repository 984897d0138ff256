import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Config } from '../config/config.ts'
import { trustGit } from '../sandbox/trust-git.ts'

/**
 * An install of an SDK that pana was made ready in: its folder, its `dart`, and the script that runs pana, with the PUB_CACHE that it is in; and
 * what is there as long as it was not removed.
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

/** How pana is called for one version, whom it has to reach, and where its documentation comes to lie. */
export type Invocation = { command: string[]; env: Record<string, string>; readable: string[]; origins: string[]; docs: string }

type Settings = Pick<Config, 'SERVER_URL' | 'SDK_PUB_HOSTED_URL' | 'ALLOWED_HOSTED_URLS'>

type Prepared = { folder: string; sdk: Sdk; token: string; seconds: number }

/** Lays down what pana needs in the folder of its job, beside the package, and says how to call it. */
export async function prepare(config: Settings, { folder, sdk, token, seconds }: Prepared): Promise<Invocation> {
  const [home, docs] = [join(folder, 'home'), join(folder, 'docs')]
  const settings = join(home, '.config')
  await mkdir(join(settings, 'dart'), { recursive: true })
  await mkdir(docs)
  // Where the pub client keeps its credentials. Source: lib/src/authentication/token_store.dart of pub.
  const credentials = { version: 1, hosted: [{ url: config.SERVER_URL, token }] }
  await writeFile(join(settings, 'dart', 'pub-tokens.json'), JSON.stringify(credentials), { mode: 0o600 })
  const binaries = dirname(sdk.dart)
  const sdks = ['--dart-sdk', dirname(binaries), ...(sdk.kind === 'flutter' ? ['--flutter-sdk', sdk.path] : [])]
  // It stops what takes long before it is stopped itself, and reports on the rest.
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
    // pana has a PUB_CACHE of its own for the package; this one it is run from.
    env: { PATH: binaries, HOME: home, XDG_CONFIG_HOME: settings, PUB_CACHE: sdk.pubCache, CI: 'true', ...trustGit },
    readable: [sdk.path, sdk.pubCache],
    origins: [config.SERVER_URL, config.SDK_PUB_HOSTED_URL, ...config.ALLOWED_HOSTED_URLS],
    docs,
  }
}
