import { expect, it } from 'vitest'
import { ConfigError } from '../../../server/platform/config/config.ts'
import { explainListenError } from '../../../server/platform/http/connections/listening.ts'

const place = { host: '0.0.0.0', port: 80, settings: { host: 'HOST', port: 'LISTEN_PORT' } }

it('names the setting of a port that the account may not use', () => {
  const error = Object.assign(new Error('listen EACCES: permission denied 0.0.0.0:80'), { code: 'EACCES' })
  const message = 'LISTEN_PORT: this account may not use port 80. Choose one above 1023, and let a proxy pass requests on to it.'
  expect(explainListenError(error, place)).toMatchObject({ message, cause: error })
})

it.each([
  ['EACCES', true],
  ['EADDRNOTAVAIL', true],
  ['ENOTFOUND', true],
  ['EADDRINUSE', false],
  ['EAI_AGAIN', false],
])('distinguishes configuration errors from transient errors: %s', (code, isLasting) => {
  const problem = explainListenError(Object.assign(new Error(`listen ${code}`), { code }), place)
  expect(problem instanceof ConfigError).toBe(isLasting)
  expect(problem).toMatchObject({ message: expect.stringMatching(/^(HOST|LISTEN_PORT): /) })
})

it('does not change other errors', () => {
  const error = Object.assign(new Error('listen EMFILE'), { code: 'EMFILE' })
  expect(explainListenError(error, place)).toBe(error)
  expect(explainListenError('no error', place)).toBe('no error')
})
