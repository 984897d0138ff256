import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Config } from '../../platform/config/config.ts'
import { type ReadySdk, trustGit } from '../sdks/ready.ts'
import { z } from 'zod'
import { type Expression, expressionBuilder } from 'kysely'
import { db, type Tables } from '../../platform/db/query.ts'
import { readRows } from '../../platform/db/statements.ts'
import { isOwnAddress } from '../../registry/packages/conditions.ts'
import { hostedHere } from '../../registry/packages/hosting.ts'
import { normalHostedUrl } from '../../platform/pub/hosted-url.ts'
import type { Services } from '../../services.ts'

export type Sdk = Pick<ReadySdk, 'kind' | 'version' | 'path' | 'dart' | 'pubCache' | 'panaPath' | 'mark'>

type Settings = Pick<Config, 'SERVER_URL' | 'SDK_PUB_HOSTED_URL' | 'ALLOWED_HOSTED_URLS'>

type Prepared = { folder: string; sdk: Sdk; token: string; seconds: number }

/**
 * Creates the files that pana needs in the job's folder, next to the package. Returns the command line, the origins that pana needs access to, and the
 * folder for documentation.
 */
export async function prepare(config: Settings, { folder, sdk, token, seconds }: Prepared) {
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
  const registry = ['--hosted-url', config.SDK_PUB_HOSTED_URL]
  const documentation = ['--dartdoc-version', 'sdk', '--dartdoc-output', docs]
  return {
    command: [sdk.panaPath, '--json', ...sdks, ...registry, ...documentation, ...times, join(folder, 'package')],
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

type Redacted = { folder: string; sdk: Pick<Sdk, 'path' | 'pubCache'>; token: string }

/** Returns a function that removes the job's paths and token from texts, because readers of a report do not need or must not see them. */
export function redactPaths({ folder, sdk, token }: Redacted): (text: string) => string {
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

const eb = expressionBuilder<Tables>()

/** Returns the names of the packages on this server that resolving a version can involve: its direct, dev and transitive dependencies. */
export async function readablePackages({ config, database }: Services, versionId: string): Promise<string[]> {
  const here = hostedHere(config)
  // If this server is the SDKs' default registry, dependencies without a registry URL are also on this server.
  const includesUnnamed = normalHostedUrl(config.SDK_PUB_HOSTED_URL) === here
  const isHere = (sdk: Expression<string | null>, url: Expression<string | null>) =>
    eb.or([isOwnAddress(url, here), ...(includesUnnamed ? [eb.and([eb(url, 'is', null), eb(sdk, 'is', null)])] : [])])
  const rows = await readRows(
    database.fork(),
    db
      .withRecursive('needed(name)', (query) =>
        query
          .selectFrom('package_dependencies as d')
          .select('d.name')
          .where('d.version_id', '=', versionId)
          .where(({ ref }) => isHere(ref('d.sdk'), ref('d.hosted_url')))
          .union(
            query
              .selectFrom('needed as n')
              .innerJoin('packages as p', 'p.name', 'n.name')
              .innerJoin('package_versions as v', 'v.package_id', 'p.id')
              .innerJoin('package_dependencies as d', 'd.version_id', 'v.id')
              .select('d.name')
              .where('d.kind', '=', 'direct')
              .where(({ ref }) => isHere(ref('d.sdk'), ref('d.hosted_url'))),
          ),
      )
      .selectFrom('needed as n')
      .innerJoin('packages as q', 'q.name', 'n.name')
      .select('q.name')
      .orderBy('q.name'),
  )
  return rows.map(({ name }) => name)
}
