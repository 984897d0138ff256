import { expect } from 'vitest'
import { ApiError } from '../../server/errors.ts'
import { checkPubspec } from '../../server/registry/archive/check-pubspec.ts'
import { describePubspec } from '../../server/registry/archive/pubspec.ts'

const rules = {
  serverUrl: 'https://pub.example.com/registry/',
  allowedHostedUrls: ['https://ok.example.org/pub', 'https://mirror.example.net'],
}

/** Minimal valid pubspec. Fields can be appended. */
export const start = 'name: foo\nversion: 1.0.0\nenvironment:\n  sdk: ^3.0.0\n'

/** Validates a pubspec and returns its description and parsed document. */
export function read(yaml: string) {
  const { document } = checkPubspec(yaml, rules)
  return { ...describePubspec(document), document }
}
export const extended = (yaml: string): ReturnType<typeof read> => read(start + yaml)

/** Returns the error message for a pubspec, or 'accepted'. Messages must be one line of printable ASCII, as the client requires. */
export function fault(yaml: string): string {
  try {
    read(yaml)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    expect(error).toMatchObject({ code: 'PackageRejected', status: 400 })
    expect(error.message).toMatch(/^[\x20-\x7e]{1,1024}$/)
    return error.message
  }
  return 'accepted'
}
