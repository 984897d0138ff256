import { builder } from '../../graphql/builder.ts'
import type { Visibility } from '../entity.ts'

export const VisibilityEnum = builder.enumType('Visibility', {
  description: 'Who reads a package.',
  values: {
    PRIVATE: { value: 'private', description: 'Whoever signed in.' },
    PUBLIC: { value: 'public', description: 'Anybody, where and while the server lets anybody browse.' },
  } satisfies Record<Uppercase<Visibility>, { value: Visibility; description: string }>,
})
