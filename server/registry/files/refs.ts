import { builder } from '../../platform/graphql/builder.ts'
import type { PackageFile } from './service.ts'

/** GraphQL reference for the kind of a file, which other features refer to. */
export const FileKindEnum = builder.enumType('FileKind', {
  description: 'Kind of a file, determined by its content.',
  values: {
    TEXT: { value: 'text', description: 'UTF-8 text.' },
    IMAGE: { value: 'image', description: 'A PNG, JPEG, GIF, WebP, AVIF or SVG image.' },
    BINARY: { value: 'binary', description: 'Anything else.' },
  } satisfies Record<Uppercase<PackageFile['kind']>, { value: PackageFile['kind']; description: string }>,
})
