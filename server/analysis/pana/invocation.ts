import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Config } from '../../platform/config/config.ts'
import { trustGit } from '../sdks/ready.ts'
import { z } from 'zod'
import { hostedHere, isHostedHere } from '../../registry/packages/hosting.ts'
import { normalHostedUrl } from '../../platform/pub/hosted-url.ts'
import type { Services } from '../../services.ts'

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

const record = z.object({ level: z.string(), message: z.string(), error: z.string().optional() })

/** Converts a line of pana's log to text. With `--json`, each line is an object. */
export function logLine(line: string): string {
  if (!line.startsWith('{')) return line
  try {
    const { data } = record.safeParse(JSON.parse(line))
    return data ? `${data.level}: ${data.message}${data.error === undefined ? '' : ` (${data.error})`}` : line
  } catch {
    return line
  }
}

/** Returns a function that removes the job's paths and token from texts, because readers of a report do not need or must not see them. */
export function redactPaths({
  folder,
  sdk,
  token,
}: {
  folder: string
  sdk: { path: string; pubCache: string }
  token: string
}): (text: string) => string {
  // pana works on a copy of the package in a folder with a random name.
  const copies = `${folder}/.tmp/`
  return (text) =>
    text
      .replaceAll(token, '[token]')
      .split(copies)
      .map((part, index) => (index === 0 ? part : part.replace(/^[\w.-]+\/?/, '')))
      .join('')
      .replaceAll(`${folder}/package/`, '')
      .replaceAll(folder, '[job]')
      .replaceAll(sdk.path, '[sdk]')
      .replaceAll(sdk.pubCache, '[pub-cache]')
}

/**
 * Returns the names of the packages on this server that resolving a version can involve: its dependencies and dev dependencies, and their transitive
 * dependencies in any version. Uses a single recursive query, which handles cycles.
 */
export async function readablePackages({ config, database }: Services, versionId: string): Promise<string[]> {
  const here = hostedHere(config)
  // If this server is the SDKs' default registry, dependencies without a registry URL are also on this server.
  const unnamed = normalHostedUrl(config.SDK_PUB_HOSTED_URL) === here ? 'or (d.hosted_url is null and d.sdk is null)' : ''
  const rows = await database.fork().execute<{ name: string }[]>(
    `with recursive needed(name) as (
       select d.name from package_dependencies d where d.version_id = ? and (${isHostedHere('d.hosted_url')} ${unnamed})
       union
       select d.name from needed n
         join packages p on p.name = n.name
         join package_versions v on v.package_id = p.id
         join package_dependencies d on d.version_id = v.id and d.kind = 'direct' and (${isHostedHere('d.hosted_url')} ${unnamed})
     )
     select q.name from needed n join packages q on q.name = n.name order by q.name`,
    [versionId, here, here],
  )
  return rows.map(({ name }) => name)
}
