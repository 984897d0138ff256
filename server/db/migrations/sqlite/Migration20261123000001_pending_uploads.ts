import { Migration } from '@mikro-orm/migrations'

export class Migration20261123000001_pending_uploads extends Migration {
  override up() {
    // Each publish asks for its author's uploads that are not finished. Without it, all of the last day would be read for that.
    this.addSql('create index `uploads_pending` on `uploads` (`user_id`, `expires_at`) where `message` is null;')
  }
}
