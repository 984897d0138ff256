import { newId } from '../../server/platform/db/base.ts'
import { insert, list, type Make } from './fill-activity.ts'

/** Adds what administrators look at: jobs, reserved names, deleted packages, advisories, and files and decisions of the mirror. */
export async function addAdministration(make: Make): Promise<void> {
  const { packages, now, owner } = make
  const at = (index: number) => new Date(now - index * 1000)
  const share = (part: number) => Math.ceil(packages.length / part)
  const subject = (index: number) => packages[index % packages.length]?.name ?? ''
  await insert(
    make,
    'jobs',
    list(share(2), (index) => ({
      id: newId(),
      created_at: at(index),
      kind: 'score',
      subject: `${subject(index)} ${index}`,
      state: index % 5 === 0 ? 'failed' : 'done',
      run_at: at(index),
      finished_at: at(index),
      attempts: 1,
      error: index % 5 === 0 ? 'It failed.' : null,
    })),
  )
  await insert(
    make,
    'scoring_log',
    // The server keeps this many entries.
    list(1000, (index) => ({
      id: newId(),
      created_at: at(index),
      level: 'info',
      package: subject(index),
      version: '1.0.0',
      message: 'Analyzed.',
    })),
  )
  await insert(
    make,
    'reserved_names',
    list(share(10), (index) => ({
      name: `reserved_${index}`,
      reserved_at: at(index),
      reserved_by_id: owner,
      skeleton: `reserved${index}`,
    })),
  )
  await insert(
    make,
    'confusable_names',
    list(share(20), (index) => ({ name: `confusable_${index}`, similar_names: '["http"]', noticed_at: at(index), requested_by_id: owner })),
  )
  await insert(
    make,
    'deleted_packages',
    list(share(20), (index) => ({
      id: newId(),
      created_at: at(index),
      name: `deleted_${index}`,
      package_id: newId(),
      is_whole: true,
      deleted_by_id: owner,
      versions: 1,
      data: '{}',
    })),
  )
  await addAdvisories(make)
  await addMirror(make)
}

async function addAdvisories(make: Make): Promise<void> {
  const { packages, now } = make
  const ids = Array.from({ length: Math.ceil(packages.length / 20) }, newId)
  const osv = (index: number) => `SNUG-2026-${index}`
  const document = (index: number) =>
    JSON.stringify({
      id: osv(index),
      modified: '2026-01-01T00:00:00Z',
      summary: 'A flaw.',
      affected: [{ package: { ecosystem: 'Pub', name: packages[index]?.name } }],
    })
  await insert(
    make,
    'advisories',
    ids.map((id, index) => ({
      id,
      created_at: new Date(now),
      osv_id: osv(index),
      modified_at: new Date(now - index),
      summary: 'A flaw.',
      document: document(index),
    })),
  )
  await insert(
    make,
    'advisory_packages',
    ids.map((advisory_id, index) => ({ advisory_id, package_name: packages[index]?.name ?? '' })),
  )
}

async function addMirror(make: Make): Promise<void> {
  const { packages, now, owner } = make
  const at = (index: number) => new Date(now - index * 1000)
  const mirrored = packages.map((_, index) => `mirrored_${index}`)
  const entry = (key: string, kind: string, name: string, version: string, index: number) => ({
    key,
    kind,
    name,
    version,
    sha256: String(index).padStart(64, '0'),
    bytes: 2000,
    checked_at: at(index),
    used_at: at(index),
  })
  await insert(
    make,
    'mirror_entries',
    mirrored.flatMap((name, index) => [
      entry(`listing:${name}`, 'listing', name, '', index),
      ...['1.0.0', '1.1.0'].map((version) => entry(`archive:${name}:${version}`, 'archive', name, version, index)),
    ]),
  )
  await insert(
    make,
    'mirror_decisions',
    mirrored.map((package_name, index) => ({
      id: newId(),
      created_at: at(index),
      key: `decision ${index}`,
      outcome: 'refused',
      rule: ['age', 'license'][index % 2] ?? 'age',
      package_name,
      version: '1.0.0',
      reason: 'Too young.',
      user_id: owner,
      count: 1,
      last_at: at(index),
    })),
  )
}
