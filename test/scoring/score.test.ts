import { expect, it } from 'vitest'
import { testApp } from '../app.ts'
import { writeDownloads } from '../support/downloads.ts'
import { publish } from '../support/publish.ts'

const isc =
  'Copyright (c) 2026 Someone\n\nPermission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted, provided that the above\ncopyright notice and this permission notice appear in all copies.'

it('shows what is known before the first analysis', async () => {
  await using app = await testApp()
  const alice = await app.member()
  const pubspec = 'topics: [network]\nplatforms:\n  web:\n'
  await publish(alice, { name: 'tagged', version: '1.0.0', pubspec, files: { LICENSE: isc } })
  await publish(alice, { name: 'tagged', version: '1.1.0-dev', files: {} })
  await alice.put('/api/account/likes/tagged')
  await alice.get('/api/archives/tagged-1.0.0.tar.gz')
  await writeDownloads(app)
  const checks = { passedChecks: null, totalChecks: 10 }
  const counts = { status: 'pending', isIncomplete: false, ...checks, grantedPoints: 0, maxPoints: 0, likeCount: 1, downloadCount30Days: 1 }
  const tags = ['sdk:dart', 'sdk:flutter', 'platform:web', 'topic:network', 'license:isc', 'is:private']
  expect(await alice.get('/api/packages/tagged/score')).toMatchObject({ status: 200, body: { ...counts, tags } })
  expect((await alice.get('/api/packages/tagged/versions/1.0.0/score')).body).toEqual({ ...counts, tags })
  expect((await alice.get('/api/packages/tagged/versions/1.1.0-dev/score')).body.tags).toContain('license:unknown')
  expect((await alice.get('/api/packages/tagged/versions/1.0.0/scoring-report')).body).toMatchObject({ status: 'pending', report: null })
  for (const path of ['absent/score', 'tagged/versions/9.9.9/score', 'tagged/versions/9.9.9/scoring-report'])
    expect(await alice.get(`/api/packages/${path}`)).toMatchObject({ status: 404, body: { error: { code: 'NotFound' } } })
})
