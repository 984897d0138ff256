import fc from 'fast-check'
import { expect, it } from 'vitest'
import { maskPath } from '../../../server/platform/http/request-log.ts'

it.each([
  ['/api/packages/acme/uploaders/ann@example.com', '/api/packages/acme/uploaders/***'],
  ['/api/packages/acme/uploaders/ann%40example.com', '/api/packages/acme/uploaders/***'],
  ['/api/packages/acme/uploaders/ann%2540example.com', '/api/packages/acme/uploaders/***'],
  ['/api%2fpackages%2facme%2fuploaders%2fann%40example.com', '/***'],
  ['/invite/Secret', '/invite/***'],
  ['/api/invites/Secret/accept', '/api/invites/***/accept'],
  ['/registry/invite//Secret', '/registry/invite//***'],
  ['/api/%69nvites/Secret', '/api/%69nvites/***'],
  ['/api/%2569nvites/Secret', '/api/%2569nvites/***'],
  ['/INVITE/Secret', '/INVITE/***'],
  ['/invite%2fSecret', '/***'],
  ['/invite%5cSecret', '/***'],
  ['/oauth/pending/Secret', '/oauth/pending/***'],
  ['/registry/oauth/pending//Secret/', '/registry/oauth/pending//***/'],
  ['/OAuth/%70ending/Secret', '/OAuth/%70ending/***'],
  ['/oauth%2fpending/Secret', '/oauth%2fpending/***'],
  ['/oauth/pending%2fSecret', '/oauth/***'],
  ['/packages/pending/versions/1.0.0', '/packages/pending/versions/1.0.0'],
  ['/api/packages/svc_pat_Secret', '/api/packages/svc_pat_***'],
  ['/api/packages/a-svc_pat_Secret-b', '/api/packages/a-svc_pat_***-b'],
  ['/api/packages/%73vc_pat_Secret', '/api/packages/***'],
  ['/api/packages/%2525252573vc_pat_Secret', '/api/packages/***'],
  ['/api/packages/svc_job_Secret', '/api/packages/svc_job_***'],
  ['/api/archives/a-SVC_JOB_Secret-b/svc_pat_Secret', '/api/archives/a-SVC_JOB_***-b/svc_pat_***'],
  ['/api/packages/%73vc_job_Secret', '/api/packages/***'],
  ['/api/packages/svc_upload_token_Secret', '/api/packages/svc_upload_***'],
  ['/api/packages/%73vc_upload_token_Secret', '/api/packages/***'],
  ['/api/packages/svc%5Fjob%255FSecret', '/api/packages/***'],
  ['/api/packages/acme/versions/1.0.0%2B1', '/api/packages/acme/versions/1.0.0%2B1'],
  ['/packages/inviter/versions/%zz', '/packages/inviter/versions/%zz'],
])('masks %s as %s', (path, shown) => {
  expect(maskPath(path)).toBe(shown)
})

it('masks e-mail addresses and invites with any characters encoded', () => {
  const encodings = fc.array(fc.constantFrom(0, 1, 2), { minLength: 40, maxLength: 40 })
  const encode = (text: string, times: number[]) =>
    text.replace(/[^/]/g, (character, index: number) => {
      const hex = character.charCodeAt(0).toString(16)
      return [character, `%${hex}`, `%25${hex}`][times[index % times.length] ?? 0] ?? ''
    })
  fc.assert(
    fc.property(encodings, (times) => {
      expect(maskPath(encode('/api/invites/TopSecret', times))).toMatch(/^\/[^/]+\/[^/]+\/\*\*\*$/)
      expect(maskPath(encode('/api/users/ann@example.com', times))).toMatch(/^\/[^/]+\/[^/]+\/\*\*\*$/)
    }),
  )
})

it('masks a path that is encoded many times in bounded time', () => {
  expect(maskPath(`/%${'25'.repeat(5000)}41`)).toBe('/***')
})
