import { Migration } from '@mikro-orm/migrations'

export class Migration20261128000401_uploads_of_jobs extends Migration {
  /** Release 0.5.0 reads uploads by their user only, so that it never sees one without. */
  static after = '0.5.0'

  override up() {
    this.addSql('alter table "uploads" alter column "user_id" drop not null;')
  }
}
