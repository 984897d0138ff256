import { expect, it } from 'vitest'
import { misspeltVariables } from '../../../server/platform/config/warnings.ts'

it.each([
  ['SEVER_URL', 'SERVER_URL'],
  ['SERVER_URLS', 'SERVER_URL'],
  ['SERVER_URI', 'SERVER_URL'],
  ['TRUST_PORXY', 'TRUST_PROXY'],
  ['JWT_SECRETE', 'JWT_SECRET'],
  ['JWT_SECRET_FIL', 'JWT_SECRET_FILE'],
  ['POSTGRES_URl', 'POSTGRES_URL'],
  ['trust_proxy', 'TRUST_PROXY'],
  ['SNUG_SERVER_URL', 'SERVER_URL'],
  ['SNUG_LISTEN_PORTS', 'LISTEN_PORT'],
])('warns about %s, which resembles %s', (given, meant) => {
  expect(misspeltVariables({ [given]: 'a secret value' })).toEqual([`${given} is not a setting and is ignored. Did you mean ${meant}?`])
})

it.each(['SNUG_ANYTHING', 'S3_ENDPOINT_URL', 'BACKUP_WHERE', 'METRICS_PATH', 'JWT_KEY'])(
  'warns about %s, which has a prefix of settings',
  (given) => {
    expect(misspeltVariables({ [given]: 'x' })).toEqual([`${given} is not a setting and is ignored.`])
  },
)

it.each(['POSTGRES_READ_URL', 'POSTGRES_READ_URL_FILE'])('warns once about %s, a removed setting, without its value', (name) => {
  expect(misspeltVariables({ [name]: 'a secret value' })).toEqual([`${name} was removed and is ignored. All reads use POSTGRES_URL.`])
})

it('does not warn about settings, their files and variables of other programs', () => {
  const others = [
    'PATH',
    'HOME',
    'HOSTNAME',
    'HOSTS',
    'NODE_ENV',
    'POSTGRES_USER',
    'POSTGRES_PASSWORD',
    'POSTGRES_DB',
    'DB_HOST',
    'LOG_FILE',
  ]
  const services = ['SNUG_SERVICE_HOST', 'SNUG_SERVICE_PORT_HTTP', 'SNUG_PORT', 'SNUG_PORT_8080_TCP_ADDR', 'S3_PORT_9000_TCP']
  const known = [
    'SERVER_URL',
    'JWT_SECRET_FILE',
    'LISTEN_PORT',
    'OTEL_SERVICE_NAME',
    'SNUG_TOKEN',
    'SNUG_URL',
    'SNUG_SITE',
    'SNUG_INSTANCES',
  ]
  expect(misspeltVariables(Object.fromEntries([...others, ...services, ...known].map((name) => [name, 'x'])))).toEqual([])
})
