import { expect } from 'vitest'
import { Package } from '../../server/registry/packages/entity.ts'
import { Publisher } from '../../server/registry/publishers/entity.ts'
import { refreshIndex } from '../../server/registry/search/refresh-index.ts'
import type { Actor } from '../actor.ts'
import type { TestApp } from '../app.ts'
import { publish } from './publish.ts'

const mit =
  'MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software ("Software"), to deal in it.\n\nThe above copyright notice and this permission notice shall be included in all copies.'

/** Publishes a Dart package, a Flutter package and a plugin. Returns their uploader. */
export async function publishSearchFixtures(app: TestApp) {
  const alice = await app.member()
  await publish(alice, {
    name: 'plain',
    version: '1.0.0',
    pubspec: 'topics: [state-management]\ndependencies:\n  http: ^1.0.0\n',
    files: { LICENSE: mit },
  })
  await publish(alice, {
    name: 'fancy',
    version: '1.0.0',
    pubspec: 'dependencies:\n  flutter:\n    sdk: flutter\nplatforms:\n  web:\n  linux:\n',
  })
  await publish(alice, {
    name: 'camera',
    version: '1.0.0',
    pubspec:
      'dependencies:\n  flutter:\n    sdk: flutter\nflutter:\n  plugin:\n    platforms:\n      android:\n        package: a.b\n        pluginClass: C\n      ios:\n        pluginClass: C\n',
  })
  return alice
}

export async function find(actor: Actor, q: string): Promise<string[]> {
  const { status, body } = await actor.get(`/api/search?q=${encodeURIComponent(q)}&sort=name`)
  expect({ q, status }).toEqual({ q, status: 200 })
  return (body.packages as { package: string }[]).map((found) => found.package)
}

/** Updates a package in the database and refreshes its search index entry. */
export async function change(
  app: TestApp,
  name: string,
  changes: Partial<Pick<Package, 'isUnlisted' | 'visibility' | 'isDiscontinued'>> & { publisher?: string },
) {
  await app.services.database.fork().transactional(async (em) => {
    const pkg = await em.findOneOrFail(Package, { name })
    const { publisher, ...rest } = changes
    em.assign(pkg, { ...rest, ...(publisher && { publisher: em.getReference(Publisher, publisher) }) })
    await em.flush()
    await refreshIndex(em, app.config, pkg.id)
  })
}
