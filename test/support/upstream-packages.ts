import { createHash } from 'node:crypto'
import { stringify } from 'yaml'
import { compareParsed, isPrerelease, known } from '../../server/platform/pub/version.ts'
import { packageArchive } from './archive.ts'

export type VersionOptions = {
  /** When it was published. By default, long ago. */
  published?: Date
  dependencies?: Record<string, unknown>
  /** Fields of the pubspec, in addition to the required ones. */
  pubspec?: Record<string, unknown>
  files?: Record<string, string | Buffer>
  /** Archive that is served in place of a generated one. */
  archive?: Buffer
}

/** A version of an upstream package. Its archive is created when it is first needed. */
export class UpstreamVersion {
  readonly version: string
  readonly pubspec: Record<string, unknown>
  readonly published: Date
  isRetracted = false
  /** Attestation of the archive, if it has one. */
  attestation: object | null = null
  private readonly options: VersionOptions
  private made: Promise<Buffer> | undefined

  constructor(name: string, version: string, options: VersionOptions) {
    this.version = version
    this.options = options
    this.published = options.published ?? longAgo
    this.pubspec = {
      name,
      version,
      description: `The package ${name}, made for tests of the mirror.`,
      environment: { sdk: '>=3.0.0 <4.0.0' },
      ...(options.dependencies && { dependencies: options.dependencies }),
      ...options.pubspec,
    }
  }

  archive(): Promise<Buffer> {
    return (this.made ??= this.make())
  }

  async sha256(): Promise<string> {
    return sha256Of(await this.archive())
  }

  private async make(): Promise<Buffer> {
    const { archive, files } = this.options
    const name = String(this.pubspec.name)
    return archive ?? packageArchive({ name, version: this.version, manifest: stringify(this.pubspec), ...(files && { files }) })
  }
}

const longAgo = new Date('2024-01-15T09:30:00.123Z')

/** What pub.dev knows about a package. Documents have the structure of pub.dev's, also where it sends explicit nulls. */
export class UpstreamPackage {
  readonly name: string
  readonly versions = new Map<string, UpstreamVersion>()
  isDiscontinued = false
  replacedBy: string | null = null
  publisher: string | null = null
  tags: string[] = ['sdk:dart', 'sdk:flutter', 'platform:linux', 'is:null-safe', 'license:bsd-3-clause', 'license:osi-approved']
  advisories: object[] = []
  advisoriesUpdated: Date | null = null

  constructor(name: string) {
    this.name = name
  }

  /** Versions in ascending order. */
  get ordered(): UpstreamVersion[] {
    return [...this.versions.values()].toSorted((a, b) => compareParsed(known(a.version), known(b.version)))
  }

  /** The listing, without fields that have no value. */
  async listing(base: string): Promise<object> {
    const versions = await Promise.all(this.ordered.map((version) => this.versionDocument(version, base)))
    const usable = versions.filter(({ retracted }) => !retracted)
    const latest = usable.findLast(({ version }) => !isPrerelease(version)) ?? usable.at(-1) ?? versions.at(-1)
    return {
      name: this.name,
      ...(this.isDiscontinued && { isDiscontinued: true }),
      ...(this.replacedBy !== null && { replacedBy: this.replacedBy }),
      latest,
      versions,
      ...(this.advisoriesUpdated && { advisoriesUpdated: dartDate(this.advisoriesUpdated) }),
    }
  }

  async versionDocument(version: UpstreamVersion, base: string) {
    return {
      version: version.version,
      ...(version.isRetracted && { retracted: true }),
      pubspec: version.pubspec,
      archive_url: `${base}/api/archives/${this.name}-${version.version}.tar.gz`,
      archive_sha256: await version.sha256(),
      published: dartDate(version.published),
    }
  }

  advisoriesDocument = () => ({
    advisories: this.advisories,
    advisoriesUpdated: this.advisoriesUpdated && dartDate(this.advisoriesUpdated),
  })

  score = () => ({
    grantedPoints: 150,
    maxPoints: 160,
    likeCount: 42,
    downloadCount30Days: 12_345,
    tags: this.publisher === null ? this.tags : [`publisher:${this.publisher}`, ...this.tags],
  })

  options = () => ({ isDiscontinued: this.isDiscontinued, replacedBy: this.replacedBy, isUnlisted: false })
}

export type AdvisoryOptions = { id?: string; affected: string[]; fixed?: string; severity?: string; modified?: Date }

/** An advisory as pub.dev sends it: ranges, packages and affected entries have all fields, of which those without a value are null. */
export function advisoryFor(name: string, { id = 'GHSA-aaaa-bbbb-cccc', affected, fixed, severity = 'HIGH', modified }: AdvisoryOptions) {
  const none = { introduced: null, fixed: null, last_affected: null, limit: null }
  const events = [{ ...none, introduced: '0' }, ...(fixed ? [{ ...none, fixed }] : [])]
  const moment = (modified ?? new Date('2025-03-04T05:06:07Z')).toISOString()
  return {
    schema_version: '1.4.0',
    id,
    modified: moment,
    published: moment,
    aliases: ['CVE-2025-10001'],
    summary: `${name} follows links out of its folder`,
    details: 'A crafted file is written outside of the folder.',
    severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:N' }],
    affected: [
      {
        package: { ecosystem: 'Pub', name, purl: `pkg:pub/${name}` },
        ranges: [{ type: 'ECOSYSTEM', repo: null, events, database_specific: null }],
        versions: affected,
        database_specific: { source: `https://example.com/advisories/${id}.json` },
        ecosystem_specific: null,
      },
    ],
    references: [{ type: 'WEB', url: `https://example.com/advisories/${id}` }],
    database_specific: { severity, cwe_ids: ['CWE-22'], github_reviewed: true, pub_display_url: `https://example.com/advisories/${id}` },
  }
}

export const sha256Of = (content: Buffer): string => createHash('sha256').update(content).digest('hex')

/** A date as Dart prints it in UTC, with microseconds. */
export const dartDate = (date: Date): string => date.toISOString().replace('Z', '000Z')
