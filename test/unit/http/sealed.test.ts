import { describe, expect, it } from 'vitest'
import { deriveKeys } from '../../../server/platform/http/keys.ts'
import { seal, unseal } from '../../../server/platform/http/sealed.ts'

const first = 'first secret of a server, 32 characters'
const second = 'second secret of a server, 32 characters'
const third = 'third secret of a server, 32 characters'

describe('sealed texts', () => {
  const keys = deriveKeys(first)

  it.each(['', 'x', 'a client secret', 'ключ 🔑', 'long '.repeat(2000)])('returns the text that was sealed', (text) => {
    expect(unseal(keys, seal(keys, text))).toBe(text)
  })

  it('does not reveal the text, nor that two texts are equal', () => {
    const sealed = seal(keys, 'a client secret')
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('client')
    expect(seal(keys, 'a client secret')).not.toBe(sealed)
  })

  it('reads texts of the previous secret during rotation, and not after it', () => {
    const sealed = seal(keys, 'a client secret')
    expect(unseal(deriveKeys(second, first), sealed)).toBe('a client secret')
    expect(unseal(deriveKeys(second), sealed)).toBeNull()
    expect(unseal(deriveKeys(third, second), sealed)).toBeNull()
  })

  it('seals under the current secret during rotation', () => {
    const sealed = seal(deriveKeys(second, first), 'a client secret')
    expect(unseal(deriveKeys(second), sealed)).toBe('a client secret')
  })

  it('rejects a text with any byte changed', () => {
    const bytes = Buffer.from(seal(keys, 'secret'), 'base64url')
    for (const index of bytes.keys()) {
      const changed = Buffer.from(bytes)
      changed[index] = (changed[index] ?? 0) ^ 1
      expect(unseal(keys, changed.toString('base64url'))).toBeNull()
    }
  })

  it('rejects shortened, extended, foreign and empty texts', () => {
    const sealed = seal(keys, 'secret')
    for (const text of [sealed.slice(0, -4), sealed.slice(4), `${sealed}AAAA`, sealed.slice(0, 30), 'not sealed', '', '💥']) {
      expect(unseal(keys, text)).toBeNull()
    }
  })
})
