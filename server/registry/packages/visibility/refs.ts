import { builder } from '../../../platform/graphql/builder.ts'
import type { Visibility } from '../entity.ts'

export const VisibilityEnum = builder.enumType('Visibility', {
  description: 'Who can read a package.',
  values: {
    PRIVATE: { value: 'private', description: 'All signed-in users.' },
    PUBLIC: { value: 'public', description: 'Everyone, if the server allows reading without signing in.' },
  } satisfies Record<Uppercase<Visibility>, { value: Visibility; description: string }>,
})
