import fc from 'fast-check'
import { parseVersion } from '../../server/platform/pub/version.ts'

const identifier = fc.oneof(
  fc.constantFrom('0', '1', '9', '10', '-1', '-9', '-10', 'a', 'A', 'a-', 'ab', '-', '--', 'dev', '1a', '0x', 'z'),
  fc.bigInt({ min: 0n, max: 10n ** 20n }).map(String),
  fc.stringMatching(/^[0-9A-Za-z-]{1,8}$/),
)
const identifiers = (prefix: string) =>
  fc.option(fc.array(identifier, { minLength: 1, maxLength: 3 }), { freq: 2 }).map((list) => (list ? prefix + list.join('.') : ''))
const number = fc.oneof(fc.nat(2), fc.nat(11), fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }))

/** Generates canonical versions from few numbers and identifiers, so that versions that differ slightly are common. */
export const version = fc
  .tuple(number, number, number, identifiers('-'), identifiers('+'))
  .map(([major, minor, patch, preRelease, build]) => `${major}.${minor}.${patch}${preRelease}${build}`)
  .filter((text) => parseVersion(text) !== null)

/** Generates the published versions of a package: distinct, and some of them retracted. */
export const published = fc.uniqueArray(fc.record({ version, retracted: fc.boolean() }), {
  maxLength: 12,
  selector: (entry) => entry.version,
})
