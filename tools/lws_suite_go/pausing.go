// Package pausing gives upstream's specs a client of the cluster that KUBECONFIG names.
//
// The operator is a process of its own there. Some specs look right after they have written, and hold only because
// upstream's controllers share their process; so each write returns a moment after it was done. Upstream's specs of
// webhooks have no controllers at all: an update that lost against one of the operator's is sent for what it made.
package pausing

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

const moment = 100 * time.Millisecond

// Client knows the kinds of the scheme.
func Client(scheme *runtime.Scheme) (client.Client, error) {
	found, err := config.GetConfig()
	if err != nil {
		return nil, err
	}
	found.QPS, found.Burst = 1000, 2000
	direct, err := client.NewWithWatch(found, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	return interceptor.NewClient(direct, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return later(c.Create(ctx, object, options...))
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return later(c.Delete(ctx, object, options...))
		},
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteAllOfOption) error {
			return later(c.DeleteAllOf(ctx, object, options...))
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			return later(updated(ctx, c, object, options...))
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return later(c.Patch(ctx, object, patch, options...))
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, part string, object client.Object, options ...client.SubResourceUpdateOption) error {
			return later(c.SubResource(part).Update(ctx, object, options...))
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, part string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			return later(c.SubResource(part).Patch(ctx, object, patch, options...))
		},
	}), nil
}

func updated(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
	err := c.Update(ctx, object, options...)
	for tries := 0; apierrors.IsConflict(err) && tries < 5; tries++ {
		now := object.DeepCopyObject().(client.Object)
		if gone := c.Get(ctx, client.ObjectKeyFromObject(object), now); gone != nil {
			return gone
		}
		object.SetResourceVersion(now.GetResourceVersion())
		err = c.Update(ctx, object, options...)
	}
	return err
}

func later(err error) error {
	time.Sleep(moment)
	return err
}
