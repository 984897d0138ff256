import { builder } from './builder.ts'
import { parseVersion } from './packages/version.ts'
import { invalidInput } from './errors.ts'

const text = (value: unknown, wanted: string): string => {
  if (typeof value === 'string') return value
  throw invalidInput(`must be ${wanted}`)
}

builder.scalarType('DateTime', {
  description: 'A moment in UTC: ISO 8601 with milliseconds, such as 2026-01-31T12:00:00.000Z.',
  serialize: (value) => value.toISOString(),
  parseValue: (value) => {
    const moment = new Date(text(value, 'a moment such as 2026-01-31T12:00:00Z'))
    if (Number.isNaN(moment.getTime())) throw invalidInput('must be a moment such as 2026-01-31T12:00:00Z')
    return moment
  },
})

builder.scalarType('BigInt', {
  description: 'A whole number that may pass 32 bits, such as a number of bytes; a JSON number.',
  serialize: (value) => value,
  parseValue: (value) => {
    if (typeof value === 'number' && Number.isSafeInteger(value)) return value
    throw invalidInput('must be a whole number')
  },
})

builder.scalarType('SemVer', {
  description: 'A package version in canonical form, such as 1.2.3-dev.1+4.',
  serialize: (value) => value,
  parseValue: (value) => {
    const version = text(value, 'a version such as 1.2.3')
    if (!parseVersion(version)) throw invalidInput('must be a version such as 1.2.3')
    return version
  },
})

builder.scalarType('URL', {
  description: 'An absolute http or https address.',
  serialize: (value) => value,
  parseValue: (value) => {
    const url = text(value, 'an http or https address')
    if (!URL.canParse(url) || !/^https?:/i.test(url)) throw invalidInput('must be an http or https address')
    return url
  },
})
