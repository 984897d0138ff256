import { computed } from 'vue'
import { LikePackageDocument, PackagePopularityDocument, UnlikePackageDocument } from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { announce } from '../shared/announce.ts'

/** Returns the downloads and likes of a package. */
export function usePopularity(name: () => string) {
  const { data, ...state } = useQuery(PackagePopularityDocument, () => ({ name: name() }))
  return { ...state, popularity: computed(() => data.value?.package ?? undefined) }
}

/** Likes or unlikes a package. The response contains the new count, which updates the page. */
export function useLike() {
  const like = useMutation(LikePackageDocument)
  const unlike = useMutation(UnlikePackageDocument)
  async function setLike(name: string, liked: boolean) {
    const result = await (liked ? like : unlike).run({ name })
    if (result) announce(liked ? `You like ${name}` : `You no longer like ${name}`)
  }
  return {
    setLike,
    running: computed(() => like.running.value || unlike.running.value),
    failure: computed(() => like.failure.value ?? unlike.failure.value),
  }
}
